package playbook

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// FaultHeader is the request header that asks for a fault: its kind, and after
// a semicolon its number, such as "429;7" or "500".
const FaultHeader = "X-Playbook-Fault"

// FaultKind is a way in which model servers go wrong.
type FaultKind string

// The faults that can be asked for.
const (
	TooMany       FaultKind = "429"       // Number: Retry-After in seconds
	ServerError   FaultKind = "500"       // Number: another status
	HTML          FaultKind = "html"      // a gateway's page; Number: its status, else 200
	CutStream     FaultKind = "cut"       // the connection ends within the reply
	Hang          FaultKind = "hang"      // no answer until the client gives up
	MalformedArgs FaultKind = "malformed" // the arguments of the calls end too early
	UnknownTool   FaultKind = "unknown"   // the calls name a tool that does not exist
	EmptyReply    FaultKind = "empty"     // neither text nor calls
)

// Fault is one fault; the zero value is none.
type Fault struct {
	Kind   FaultKind
	Number int
}

func faultOf(r *http.Request) Fault {
	kind, num, _ := strings.Cut(r.Header.Get(FaultHeader), ";")
	n, err := strconv.Atoi(strings.TrimSpace(num))
	if err != nil {
		n = 0
	}
	return Fault{Kind: FaultKind(strings.TrimSpace(kind)), Number: n}
}

// instead answers in place of the scene, for the faults of transport.
func (f Fault) instead(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case TooMany:
		w.Header().Set("Retry-After", strconv.Itoa(f.Number))
		writeError(w, http.StatusTooManyRequests, "rate_limit_error", "too many requests")
	case ServerError:
		writeError(w, f.or(http.StatusInternalServerError), "server_error", "the server had an error")
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.or(http.StatusOK))
		_, _ = w.Write([]byte("<html><body><h1>gateway</h1></body></html>"))
	case Hang:
		<-r.Context().Done()
	default:
		return false
	}
	return true
}

func (f Fault) or(status int) int {
	if f.Number != 0 {
		return f.Number
	}
	return status
}

// spoil changes what the scene says, for the faults of models.
func (f Fault) spoil(l line) line {
	switch f.Kind {
	case EmptyReply:
		return line{}
	case MalformedArgs, UnknownTool:
		calls := make([]toolCall, len(l.calls))
		for i, c := range l.calls {
			if f.Kind == UnknownTool {
				c.Function.Name += "_please"
			} else {
				c.Function.Arguments = c.Function.Arguments[:len(c.Function.Arguments)/2]
			}
			calls[i] = c
		}
		return line{text: l.text, calls: calls}
	}
	return l
}

// writeCut sends half of a reply that announced its whole length.
func writeCut(w http.ResponseWriter, c completion) {
	b, err := json.Marshal(c)
	if err != nil { // plain values always encode
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b[:len(b)/2])
}
