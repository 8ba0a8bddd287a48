package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/tools"
)

// textOf gives the content as text that is valid UTF-8, and says so where
// something had to be replaced. What is no text is refused with its kind.
func textOf(name string, content []byte) (string, error) {
	if text, ok := fromUTF16(content); ok {
		return text, nil
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if bytes.IndexByte(content, 0) >= 0 {
		return "", &tools.Failure{Code: "binary", Pointer: "/path",
			Message: fmt.Sprintf("%s is not text (%s, %d bytes)", name, http.DetectContentType(content), len(content))}
	}
	if utf8.Valid(content) {
		return string(content), nil
	}
	return strings.ToValidUTF8(string(content), "\ufffd") +
		"\n[note: " + name + " is not UTF-8; what could not be read is shown as \ufffd]", nil
}

// fromUTF16 reads a file that says by its byte order mark that it is UTF-16, as
// exports on Windows are.
func fromUTF16(content []byte) (string, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(content, []byte{0xFF, 0xFE}):
		order = binary.LittleEndian
	case bytes.HasPrefix(content, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	default:
		return "", false
	}
	units := make([]uint16, 0, len(content)/2)
	for i := 2; i+1 < len(content); i += 2 {
		units = append(units, order.Uint16(content[i:]))
	}
	return string(utf16.Decode(units)), true
}

func lines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
