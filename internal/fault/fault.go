// Package fault is the one error type whose text a person may read: a stable
// code for programs and one clear sentence for people. Every other error counts
// as internal: its text goes to the log and never to Slack, the model or a caller.
package fault

import (
	"errors"
	"fmt"
)

// Code says what kind of fault it is. Codes are stable: tests, metrics and
// callers compare them.
type Code string

// The codes, from the caller's mistake to ours.
const (
	Invalid     Code = "invalid"     // what was asked for is wrong in itself
	NotFound    Code = "not_found"   // it does not exist, or not for this person
	Forbidden   Code = "forbidden"   // this person may not
	Conflict    Code = "conflict"    // it has already been settled, or is being changed by somebody else
	Unavailable Code = "unavailable" // a part we need does not answer; trying again may help
	Internal    Code = "internal"    // our own mistake; details are in the log
)

// Error is a fault: a code, a sentence for people, and the cause for the log.
type Error struct {
	Code    Code
	Message string // one clear sentence for people; holds no secrets
	Cause   error  // for the log alone; nil when there is none
}

// Error gives code, message and cause, for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes two faults of one code and message equal for errors.Is, and lets a
// fault without a message stand for every fault of its code:
// errors.Is(err, &fault.Error{Code: fault.NotFound}).
func (e *Error) Is(target error) bool {
	var t *Error
	if !errors.As(target, &t) {
		return false
	}
	return t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// New makes a fault; the arguments fill the message as in fmt.Sprintf.
func New(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault with a cause. The cause is for the log: its text is never
// part of the message.
func Wrap(cause error, code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// CodeOf gives the code of the outermost fault in the chain, Internal for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// internalText is what people are told of errors that are not theirs to mend.
const internalText = "Something went wrong on our side; the details are in the log."

// Message gives the sentence for people. Errors that are no faults give a
// general sentence, so that nothing internal leaks.
func Message(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return internalText
}
