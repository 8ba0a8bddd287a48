package localslack

import "strings"

// Error is a refusal in Slack's words: Code is what stands in "error" of a Web
// API answer (channel_not_found, invalid_blocks …).
type Error struct {
	Code     string
	Needed   string   // missing_scope only
	Provided string   // missing_scope only
	Messages []string // response_metadata.messages
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Messages) == 0 {
		return e.Code
	}
	return e.Code + ": " + strings.Join(e.Messages, "; ")
}

// Is makes two refusals with one code equal for errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func refuse(code string, messages ...string) error { return &Error{Code: code, Messages: messages} }

// missingField is Slack's answer to a call without a required argument.
func missingField(name string) error {
	return refuse("invalid_arguments", "[ERROR] missing required field: "+name)
}
