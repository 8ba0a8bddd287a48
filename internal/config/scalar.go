package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// UserID is the Slack id of a person (U… or W…).
type UserID string

// UsergroupID is the Slack id of a user group (S…).
type UsergroupID string

// ChannelID is the Slack id of a channel or direct message (C…, G… or D…).
type ChannelID string

// Bytes is an amount of memory or data. In the file: a number with B, KiB, MiB,
// GiB, kB, MB or GB; a bare number counts bytes.
type Bytes int64

// scalar is a type that is written as one word and checks itself.
type scalar interface{ parse(text string) error }

func (id *UserID) parse(text string) error {
	return parseID((*string)(id), text, "UW")
}

func (id *UsergroupID) parse(text string) error {
	return parseID((*string)(id), text, "S")
}

func (id *ChannelID) parse(text string) error {
	return parseID((*string)(id), text, "CGD")
}

// idShape is how ids of Slack look: a kind letter, then capitals and digits.
// Short ids need a digit, so that NAME in capitals is not taken for one.
var idShape = regexp.MustCompile(`^[A-Z](?:[A-Z0-9]*[0-9][A-Z0-9]*|[A-Z0-9]{8,})$`)

// idKinds names what an id is by its first letter, and the key it belongs under.
var idKinds = map[byte]string{
	'U': "a person's id (users)", 'W': "a person's id (users)",
	'S': "a user group's id (usergroups)",
	'C': "a channel's id (channels)", 'G': "a channel's id (channels)",
	'D': "a direct message's id", 'B': "a bot's id", 'T': "a workspace's id", 'A': "an app's id",
}

func parseID(to *string, text, kinds string) error {
	if text == "" {
		return nil
	}
	if !idShape.MatchString(text) {
		name := strings.TrimLeft(text, "@#")
		return fmt.Errorf("%q is a name, and names can be changed by anybody; run: countersign ids %q and write the id here", text, name)
	}
	if !strings.Contains(kinds, text[:1]) {
		is := idKinds[text[0]]
		if is == "" {
			is = "no id of Slack"
		}
		return fmt.Errorf("%s is %s; here stands %s", text, is, idKinds[kinds[0]])
	}
	*to = text
	return nil
}

// byteUnits are the units of Bytes, longest suffix first.
var byteUnits = []struct {
	suffix string
	size   float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

func (b *Bytes) parse(text string) error {
	for _, u := range byteUnits {
		number, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n < 0 || math.IsNaN(n) || n*u.size > math.MaxInt64/2 {
			break
		}
		*b = Bytes(n * u.size)
		return nil
	}
	return fmt.Errorf("%q is no size; write a number and a unit, like 256MiB", text)
}

// errUnit is what a bare number gets where a duration is wanted.
var errUnit = errors.New("a time needs a unit, like 30s, 10m, 24h or 7d")

// days is a whole number of days, which Go's own durations do not know.
var days = regexp.MustCompile(`^[0-9]{1,5}d$`)

func parseDuration(text string) (time.Duration, error) {
	if days.MatchString(text) {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
		return time.Duration(n) * 24 * time.Hour, err
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
		return 0, errUnit
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time; %w", text, errUnit)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is a negative time", text)
	}
	return d, nil
}
