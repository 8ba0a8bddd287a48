package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
)

// newRun is the body of a start.
type newRun struct {
	Text     string `json:"text"`
	Key      string `json:"key,omitempty"` // the same key starts one run, however often it is sent
	Language string `json:"language,omitempty"`
}

// longestKey is how many characters a key may have: databases index no text of any length.
const longestKey = 200

// started is the answer to a start.
type started struct {
	ID   string `json:"id,omitempty"`
	Seen bool   `json:"seen,omitempty"` // the key was used before
}

func (s *Server) startRun(r *http.Request, t *Token) (int, any, error) {
	var in newRun
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	switch {
	case strings.TrimSpace(in.Text) == "":
		return 0, nil, fail(http.StatusBadRequest, "bad_request", "text is empty.")
	case utf8.RuneCountInString(in.Key) > longestKey:
		return 0, nil, fail(http.StatusBadRequest, "bad_request", fmt.Sprintf("key is longer than %d characters.", longestKey))
	case in.Language != "" && in.Language != "en" && in.Language != "zh":
		return 0, nil, fail(http.StatusBadRequest, "bad_request", "language is en or zh.")
	case s.Channel == "":
		return 0, nil, fail(http.StatusForbidden, "no_channel", "No channel takes runs of programs: api.channel in the configuration names one.")
	}
	o := agent.Order{
		Installation: s.Installation, Channel: s.Channel, Asker: t.Asker(), Owner: t.Owner, Origin: "api", Text: in.Text, Language: in.Language,
	}
	if o.Language == "" {
		o.Language = "en"
	}
	if in.Key != "" {
		o.Key = "api/" + t.Name + "/" + in.Key
	}
	got, err := s.Runs.Begin(r.Context(), o)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, started{ID: got.Run, Seen: got.Seen}, nil
}

// run is a run as programs see it.
type run struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Halt      string     `json:"halt,omitempty"`
	Asker     string     `json:"asker"`
	Owner     string     `json:"owner,omitempty"`
	Origin    string     `json:"origin"`
	Request   string     `json:"request"`
	Answer    string     `json:"answer,omitempty"`
	Channel   string     `json:"channel"`
	Thread    string     `json:"thread,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Steps     []step     `json:"steps"`
	Approvals []approval `json:"approvals"`
}

type step struct {
	N       int    `json:"n"`
	Tool    string `json:"tool"`
	Risk    string `json:"risk"`
	State   string `json:"state"`
	Summary string `json:"summary,omitempty"`
	Effect  string `json:"effect,omitempty"`
}

// approval is what somebody must know who decides. Its arguments and preview are shown
// to tokens that may decide it alone.
type approval struct {
	ID        string          `json:"id"`
	Step      int             `json:"step"`
	Tool      string          `json:"tool"`
	State     string          `json:"state"`
	Revision  int             `json:"revision"`
	Digest    string          `json:"digest"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Preview   any             `json:"preview,omitempty"`
	Needs     any             `json:"needs"`
	ExpiresAt time.Time       `json:"expires_at"`
}

func (s *Server) showRun(r *http.Request, t *Token) (int, any, error) {
	work, decides, err := s.visible(r, t)
	if err != nil {
		return 0, nil, err
	}
	out := s.tell(work, t)
	for _, a := range work.Approvals {
		if a.Open() {
			out.Approvals = append(out.Approvals, waiting(a, decides[a.ID]))
		}
	}
	slices.SortFunc(out.Approvals, func(a, b approval) int { return a.Step - b.Step })
	return http.StatusOK, out, nil
}

// visible loads the run of a request when it is for the token: its own or its
// owner's, or for one that decides, one with something that its owner may decide, which
// is what it decides.
func (s *Server) visible(r *http.Request, t *Token) (work *agent.Work, decides map[string]bool, err error) {
	work, err = s.Views.Load(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	if work.Run.Installation != s.Installation {
		return nil, nil, agent.ErrNotFound
	}
	if t.Scope == Ask {
		if work.Run.Asker == t.Asker() {
			return work, nil, nil
		}
		return nil, nil, agent.ErrNotFound
	}
	person, err := s.Directory.Person(r.Context(), t.Owner, true)
	if err != nil {
		return nil, nil, err
	}
	decides = map[string]bool{}
	for _, a := range work.Approvals {
		if needs := a.Needs(); a.Open() && needs.MayDecide(person, a.Requesters()) == nil {
			decides[a.ID] = true
		}
	}
	if len(decides) == 0 {
		return nil, nil, agent.ErrNotFound
	}
	return work, decides, nil
}

func (s *Server) tell(w *agent.Work, t *Token) run {
	r := &w.Run
	out := run{
		ID: r.ID, State: string(r.State), Halt: string(r.Halt), Asker: r.Asker.User, Owner: r.Owner.User, Origin: r.Origin,
		Request: s.Mask(r.Request), Answer: s.Mask(r.Answer), Channel: r.Channel, Thread: r.TS, CreatedAt: r.CreatedAt, Steps: []step{}, Approvals: []approval{},
	}
	if r.Rootless() {
		out.Thread = ""
	}
	if !r.EndedAt.IsZero() {
		out.EndedAt = &r.EndedAt
	}
	hush := false // whoever decides reads nothing of a private read, as the channel does not
	for i := range w.Steps {
		x := &w.Steps[i]
		told := step{N: x.N, Tool: x.Tool, Risk: string(x.Risk), State: string(x.State)}
		if !x.Private && !hush {
			told.Summary, told.Effect = s.Mask(x.Summary), s.Mask(x.Effect)
		}
		out.Steps = append(out.Steps, told)
		hush = hush || t.Scope != Ask && len(agent.PrivateSources(w.Steps[i:i+1])) > 0
	}
	if hush {
		out.Answer = ""
	}
	return out
}

// waiting shows an open approval; whole to who may decide it.
func waiting(a *approvals.Approval, whole bool) approval {
	r := a.Current()
	out := approval{
		ID: a.ID, Step: a.Step, Tool: a.Tool, State: string(a.State), Revision: a.Revision, Digest: r.Digest, Needs: a.Needs(), ExpiresAt: a.ExpiresAt,
	}
	if !whole {
		return out
	}
	out.Arguments = r.Args
	if r.Preview != nil {
		out.Preview = r.Preview
	}
	return out
}

func (s *Server) resumeRun(r *http.Request, t *Token) (int, any, error) {
	work, _, err := s.visible(r, t)
	if err != nil {
		return 0, nil, err
	}
	if work.Run.Rootless() {
		return 0, nil, fail(http.StatusConflict, "not_begun", "It begins when its first message is posted.")
	}
	e := audit.Entry{At: s.Now(), Kind: "run.resume", Run: work.Run.ID, Team: t.Owner.Team, User: t.Asker().User, Via: "api", Data: "{}"}
	if err := s.Views.Order(r.Context(), work.Run.ID, nil, e); err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, started{ID: work.Run.ID}, nil
}
