package sandbox

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCapture(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keep       int
		in, expect string
	}{
		{4, "abcd", "abcd"},
		{4, "abcde", "ab\n… [1 bytes left out] …\nde"},
		{4, "ab" + strings.Repeat("x", 100) + "yz", "ab\n… [100 bytes left out] …\nyz"},
		{8, "余额余额余额", "余\n… [12 bytes left out] …\n额"},
		{4, "a\x00\r\n", "a\ufffd\n"},
		{4, "", ""},
	} {
		out := newCapture(c.keep, &meter{left: 1 << 20})
		if _, err := out.Write([]byte(c.in)); err != nil {
			t.Error(err)
		}
		if got := out.text(); got != c.expect {
			t.Errorf("%q, %d kept: %q, want %q", c.in, c.keep, got, c.expect)
		}
	}
}

// However a stream is cut into writes, the same is kept: all of it or both its ends.
func TestCaptureOfAnyWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(2, 40).Draw(t, "keep")
		writes := rapid.SliceOf(rapid.StringMatching(`[a-z余\n]{0,30}`)).Draw(t, "writes")
		whole := strings.Join(writes, "")
		cut, once := newCapture(keep, &meter{left: 1 << 20}), newCapture(keep, &meter{left: 1 << 20})
		for _, w := range writes {
			if _, err := cut.Write([]byte(w)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := once.Write([]byte(whole)); err != nil {
			t.Fatal(err)
		}
		got := cut.text()
		switch {
		case got != once.text():
			t.Fatalf("in parts %q, at once %q", got, once.text())
		case len(whole) <= keep/2*2 && got != whole:
			t.Fatalf("%q became %q", whole, got)
		case !utf8.ValidString(got) || strings.ContainsRune(got, '\ufffd'):
			t.Fatalf("a character was broken: %q", got)
		case len(cut.head)+len(cut.tail) > 2*keep:
			t.Fatalf("%d bytes are held", len(cut.head)+len(cut.tail))
		}
	})
}

func TestMeterCountsBothStreams(t *testing.T) {
	t.Parallel()
	m := &meter{left: 10}
	out, err := newCapture(4, m), newCapture(4, m)
	if _, e := out.Write([]byte("12345")); e != nil {
		t.Error(e)
	}
	if _, e := err.Write([]byte("12345")); e != nil {
		t.Error(e)
	}
	if _, e := out.Write([]byte("6")); !errors.Is(e, errFlood) {
		t.Errorf("got %v", e)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	if got := ends("余额abcdef", 4); got != "余额\n… [4 characters left out] …\nef" {
		t.Errorf("got %q", got)
	}
	if got := ends("abcd", 4); got != "abcd" {
		t.Errorf("got %q", got)
	}
}
