package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// errFlood stops a command that writes without end.
var errFlood = errors.New("too much output")

// floodFactor is how many times more than is kept a command may write before it is stopped.
const floodFactor = 64

// meter counts what a command writes to both streams.
type meter struct{ left int64 }

// capture keeps the head and the tail of a stream.
type capture struct {
	half  int // bytes of each part
	head  []byte
	tail  []byte // up to twice half; its last half counts
	total int64
	meter *meter
}

func newCapture(keep int, m *meter) *capture { return &capture{half: max(keep/2, 1), meter: m} }

// Write implements io.Writer. It fails with errFlood when both streams together are too much.
func (c *capture) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.meter.left -= int64(len(p))
	rest := p
	if free := c.half - len(c.head); free > 0 {
		n := min(free, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	c.keepTail(rest)
	if c.meter.left < 0 {
		return len(p), errFlood
	}
	return len(p), nil
}

func (c *capture) keepTail(p []byte) {
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if len(c.tail)+len(p) > 2*c.half {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.half:]...)
	}
	c.tail = append(c.tail, p...)
}

// text is what was kept, with a mark where something is missing.
func (c *capture) text() string {
	tail := c.tail[max(0, len(c.tail)-c.half):]
	missing := c.total - int64(len(c.head)+len(tail))
	if missing <= 0 {
		return printable(string(c.head) + string(tail))
	}
	head := wholeEnd(c.head)
	tail = wholeStart(tail)
	missing = c.total - int64(len(head)+len(tail))
	return printable(string(head)) + fmt.Sprintf("\n… [%d bytes left out] …\n", missing) + printable(string(tail))
}

// wholeEnd takes off a character that was cut in two.
func wholeEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// wholeStart takes off the rest of a character that was cut in two.
func wholeStart(b []byte) []byte {
	i := 0
	for i < min(len(b), utf8.UTFMax-1) && !utf8.RuneStart(b[i]) {
		i++
	}
	return b[i:]
}

// printable replaces what is no text: databases do not take NUL, terminals obey escapes.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, text)
}

// empty says whether nothing was written.
func (c *capture) empty() bool { return c.total == 0 }
