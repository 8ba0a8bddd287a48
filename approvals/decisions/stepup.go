package decisions

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/seal"
)

// Factors keeps second proofs. internal/store implements it.
type Factors interface {
	// Secret gives what a person's codes are checked against, as it was sealed:
	// agent.ErrNotFound when the person is not enrolled.
	Secret(ctx context.Context, who policy.Actor) (sealed string, err error)
	// TryCode counts one try of a person's code and gives the number of tries, this one
	// included: ErrLocked when they are used up. Counting comes before checking, so that
	// no number of tries at once finds more.
	TryCode(ctx context.Context, who policy.Actor, most int) (tries int, err error)
	// UseCode marks a time step as used and forgets the tries; false when it, or a
	// later one, was used before.
	UseCode(ctx context.Context, who policy.Actor, step int64) (bool, error)
}

const (
	mostTries = 5                // codes in a row that may be wrong
	codeStep  = 30 * time.Second // RFC 6238
	codeSkew  = 1                // steps that a person's clock may be off
)

// Prove checks a one-time code: "" when it is right, else a key of the message
// catalogue. The last wrong try locks the person, as loudly as a disowned decision.
func (d *Door) Prove(ctx context.Context, who policy.Actor, code string) (refusal string, err error) {
	if d.Clock != nil && d.Clock() != nil {
		return "clock", nil // by another clock every code is wrong, and none is the person's fault
	}
	secret, refusal, err := d.secretOf(ctx, who)
	if refusal != "" || err != nil {
		return refusal, err
	}
	tries, err := d.Factors.TryCode(ctx, who, mostTries)
	switch {
	case errors.Is(err, ErrLocked): // also where a death came between the last wrong code and the lock
		return d.outOfTries(ctx, who)
	case err != nil:
		return "", fmt.Errorf("count a try of %s: %w", who.User, err)
	}
	step, err := matching(secret, code, d.Now())
	if err != nil {
		return "", fmt.Errorf("the second proof of %s cannot be used; enroll them again", who.User)
	}
	if step > 0 {
		fresh, err := d.Factors.UseCode(ctx, who, step)
		if err != nil {
			return "", fmt.Errorf("use a code of %s: %w", who.User, err)
		}
		if fresh {
			return "", nil
		}
	}
	if tries < mostTries {
		return "code_wrong", nil
	}
	return d.outOfTries(ctx, who)
}

// outOfTries locks a person. It may be repeated.
func (d *Door) outOfTries(ctx context.Context, who policy.Actor) (refusal string, err error) {
	if err := d.lock(ctx, who, fmt.Sprintf("%d wrong codes", mostTries), nil); err != nil {
		return "", err
	}
	return "locked", d.voidStanding(ctx, who)
}

// secretOf gives what a person's codes are checked against, or why it cannot. That it
// cannot be read is no try: it is not the person's fault.
func (d *Door) secretOf(ctx context.Context, who policy.Actor) (secret, refusal string, err error) {
	sealed, err := d.Factors.Secret(ctx, who)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return "", "code_unenrolled", nil
	case err != nil:
		return "", "", fmt.Errorf("read the second proof of %s: %w", who.User, err)
	}
	if secret, err = OpenSecret(d.Box, who, sealed); err != nil {
		d.Logger.ErrorContext(ctx, "the second proof of a person cannot be read; `countersign doctor` says what to do", "user", who.User, "error", err)
		return "", "code_unreadable", nil
	}
	return secret, "", nil
}

// SealSecret seals what a person's codes are checked against, for that person alone.
func SealSecret(b seal.Box, who policy.Actor, secret string) (string, error) {
	return b.Seal(secret, ownerOf(who))
}

// OpenSecret gives it back.
func OpenSecret(b seal.Box, who policy.Actor, sealed string) (string, error) {
	return b.Open(sealed, ownerOf(who))
}

func ownerOf(who policy.Actor) string { return "one-time code of " + who.Team + "/" + who.User }

// matching gives the time step whose code this is; 0 when there is none.
func matching(secret, code string, now time.Time) (int64, error) {
	code = strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, code)
	at, found := now.Unix()/int64(codeStep/time.Second), int64(0)
	for step := at - codeSkew; step <= at+codeSkew; step++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(step), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, err
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = step
		}
	}
	return found, nil
}
