package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// micros is how an instant is kept: microseconds since 1970 in UTC, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instant is the reverse of micros.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// clean makes text of any origin fit for both databases: Postgres refuses NUL and
// what is not UTF-8. Each is replaced by the replacement character.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// encode is how a value is kept as JSON.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// decode is the reverse of encode; an empty column leaves the value as it is.
func decode(column string, into any) error {
	if column == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(column), into); err != nil {
		return fmt.Errorf("decode %T: %w", into, err)
	}
	return nil
}

// raw gives a JSON column as it is; nil when it is empty.
func raw(column string) json.RawMessage {
	if column == "" {
		return nil
	}
	return json.RawMessage(column)
}

// column is a column and its new value.
type column struct {
	name  string
	value any
}

// assignments gives the list for SET and its arguments.
func assignments(columns []column) (set string, args []any) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i], args = c.name+" = ?", append(args, c.value)
	}
	return strings.Join(names, ", "), args
}
