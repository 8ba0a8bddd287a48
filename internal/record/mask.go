package record

import (
	"encoding/json"

	"countersign/internal/audit"
)

// json masks a JSON value; what is no JSON becomes a text.
func (m Mask) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return audit.Masked(raw, m)
}
