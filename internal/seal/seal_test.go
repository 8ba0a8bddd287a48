package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"countersign/internal/seal"
)

const secret = "JBSWY3DPEHPK3PXP"

func box(t *testing.T, keys ...byte) seal.Box {
	t.Helper()
	var all [][]byte
	for _, k := range keys {
		all = append(all, bytes.Repeat([]byte{k}, 32))
	}
	b, err := seal.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sealed(t *testing.T, b seal.Box) string {
	t.Helper()
	s, err := b.Seal(secret, "T1/U1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedSecretsAreOpenedForTheirOwner(t *testing.T) {
	t.Parallel()
	b := box(t, 1)
	first, second := sealed(t, b), sealed(t, b)
	if first == second || strings.Contains(first, secret) || !b.Current(first) {
		t.Errorf("sealed as %s and %s", first, second)
	}
	if got, err := b.Open(first, "T1/U1"); got != secret || err != nil {
		t.Errorf("opened: %q, %v", got, err)
	}
}

// A key of before opens and no longer seals.
func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	old := sealed(t, box(t, 1))
	both := box(t, 2, 1)
	if got, err := both.Open(old, "T1/U1"); got != secret || err != nil || both.Current(old) {
		t.Errorf("by an old key: %q, %v, current %v", got, err, both.Current(old))
	}
	if got, err := box(t, 2).Open(sealed(t, both), "T1/U1"); got != secret || err != nil {
		t.Errorf("by the new key: %q, %v", got, err)
	}
}

func TestWhatIsNotOpened(t *testing.T) {
	t.Parallel()
	b := box(t, 1)
	good := sealed(t, b)
	last := good[:len(good)-6] + "AAAAAA"
	for name, c := range map[string]struct {
		box    seal.Box
		sealed string
		owner  string
		want   error
	}{
		"moved to another person": {b, good, "T1/U2", seal.ErrOther},
		"of another workspace":    {b, good, "T2/U1", seal.ErrOther},
		"changed":                 {b, last, "T1/U1", seal.ErrOther},
		"cut":                     {b, good[:len(good)-8], "T1/U1", seal.ErrOther},
		"no base64":               {b, good + "!", "T1/U1", seal.ErrOther},
		"empty inside":            {b, good[:strings.LastIndex(good, ".")+1], "T1/U1", seal.ErrOther},
		"never sealed":            {b, secret, "T1/U1", seal.ErrPlain},
		"nothing":                 {b, "", "T1/U1", seal.ErrPlain},
		"another key":             {box(t, 2), good, "T1/U1", seal.ErrKey},
		"no key":                  {seal.Box{}, good, "T1/U1", seal.ErrNoKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := c.box.Open(c.sealed, c.owner); got != "" || !errors.Is(err, c.want) {
				t.Errorf("%q, %v, wanted %v", got, err, c.want)
			}
		})
	}
	if _, err := (seal.Box{}).Seal(secret, "T1/U1"); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("sealed without a key: %v", err)
	}
}
