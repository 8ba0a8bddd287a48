package main

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"countersign/bot/slacktext"
	"countersign/internal/app"
)

// operate runs a command on the database as it is, beside whoever serves it.
func (e *env) operate(do func(o *app.Operator) error) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	o, err := app.NewOperator(e.ctx, cfg, app.Options{Logger: e.log, Now: e.now})
	if err != nil {
		return err
	}
	err = do(o)
	if closing := o.Close(); err == nil {
		err = closing
	}
	return err
}

// via is how the record names this person: by the account on this machine, which
// says who sat here whatever they claim.
func via() string {
	name, place := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		place = h
	}
	return fmt.Sprintf("cli, %s@%s", name, place)
}

// page prints what other people, the model and tools wrote, safely: nothing in it
// reaches the terminal as a control sequence, and secrets are masked.
type page struct {
	mask *slacktext.Masker // nil: nothing is masked
	out  strings.Builder
}

// say draws a text in one line.
func (p *page) say(s string) string {
	return strings.ReplaceAll(p.draw(s), "\n", "⏎")
}

// draw draws a text over several lines.
func (p *page) draw(s string) string {
	if p.mask == nil {
		return slacktext.Draw(s)
	}
	drawn, _ := p.mask.Draw(s)
	return drawn
}

// short is say, cut.
func (p *page) short(s string, runes int) string {
	r := []rune(p.say(s))
	if len(r) <= runes {
		return string(r)
	}
	return string(r[:runes]) + "…"
}

// line prints a label and a value in columns; nothing without a value.
func (p *page) line(label, value string) {
	if value != "" {
		fmt.Fprintf(&p.out, "%-10s %s\n", label, value)
	}
}

// block prints a text of several lines, indented.
func (p *page) block(indent, text string) {
	for l := range strings.SplitSeq(p.draw(text), "\n") {
		fmt.Fprintf(&p.out, "%s%s\n", indent, l)
	}
}

// instant is a moment as people and scripts can read it.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// span is a length of time in its two largest units.
func span(d time.Duration) string {
	d = d.Abs()
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < day:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d/day), int(d.Hours())%24)
}
