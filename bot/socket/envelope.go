package socket

import (
	"bytes"
	"encoding/json"
	"time"
)

// Envelope types that are handed to Config.Handle. Every other type is
// acknowledged, counted and dropped here.
const (
	TypeEvent       = "events_api"
	TypeInteraction = "interactive"
	TypeCommand     = "slash_commands"
)

// MaxFrame is the size in bytes from which on Slack ignores an acknowledgement
// without saying so: 20 KB (observed by Slack's client libraries, not
// documented by Slack).
const MaxFrame = 20480

// Envelope is one delivery of Slack. Its payload is untrusted data.
type Envelope struct {
	// ID names this delivery; a retry of the same event has another one.
	ID string
	// Type is TypeEvent, TypeInteraction or TypeCommand.
	Type string
	// Payload is the event's outer object, the interaction, or the fields of a
	// slash command; nil if Slack sent none.
	Payload json.RawMessage
	// RetryAttempt counts from 1 for events that come again, else 0. It says
	// nothing about whether an earlier attempt was seen.
	RetryAttempt int
	// RetryReason is Slack's word for why it tries again, such as "timeout".
	RetryReason string
	// AcceptsResponse reports whether Slack reads a payload in the
	// acknowledgement.
	AcceptsResponse bool
	// Received is when the frame arrived. Slack wants its acknowledgement
	// within three seconds of it.
	Received time.Time
}

// Response is a handler's answer to an envelope. The zero value leaves the
// envelope unacknowledged: Slack sends an event again and shows an error to
// the person who clicked.
type Response struct {
	// Ack acknowledges the envelope. Set it only after the commit.
	Ack bool
	// Payload, if not nil, is marshalled into the acknowledgement, for example
	// the field errors of a modal. It is dropped where the envelope does not
	// accept one. The whole frame must stay under MaxFrame bytes, or the
	// acknowledgement is sent without it.
	Payload any
}

// frame is a message of Slack, decoded as far as this package needs.
type frame struct {
	Envelope
	reason      string
	connections int
	lifetime    time.Duration
}

// parseFrame reads one message. Fields of an unexpected JSON type are treated
// as absent, so that a change on Slack's side costs that field only.
func parseFrame(data []byte) (frame, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return frame{}, err
	}
	var debug map[string]json.RawMessage
	lenient(raw["debug_info"], &debug)
	var f frame
	lenient(raw["envelope_id"], &f.ID)
	lenient(raw["type"], &f.Type)
	lenient(raw["retry_attempt"], &f.RetryAttempt)
	lenient(raw["retry_reason"], &f.RetryReason)
	lenient(raw["accepts_response_payload"], &f.AcceptsResponse)
	lenient(raw["reason"], &f.reason)
	lenient(raw["num_connections"], &f.connections)
	var seconds int
	lenient(debug["approximate_connection_time"], &seconds)
	f.lifetime = time.Duration(seconds) * time.Second
	f.Payload = raw["payload"]
	return f, nil
}

// lenient decodes value into target and leaves target's zero value if it
// cannot.
func lenient[T any](value json.RawMessage, target *T) {
	var decoded T
	if json.Unmarshal(value, &decoded) == nil {
		*target = decoded
	}
}

// salvageID finds the envelope's ID in a message that is not valid JSON as a
// whole. It returns "" if the damage comes first.
func salvageID(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return ""
		}
		if key == "envelope_id" {
			var id string
			lenient(value, &id)
			return id
		}
	}
	return ""
}

// ackFrame encodes an acknowledgement. HTML escaping is off because it would
// only bring the frame closer to MaxFrame.
func ackFrame(id string, payload any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		EnvelopeID string `json:"envelope_id"`
		Payload    any    `json:"payload,omitempty"`
	}{id, payload})
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}
