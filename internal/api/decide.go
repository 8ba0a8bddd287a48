package api

import (
	"crypto/rand"
	"net/http"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
)

// verdict is the body of a decision. Revision and digest are those that were shown:
// another revision is refused.
type verdict struct {
	Verdict  string `json:"verdict"`
	Revision int    `json:"revision"`
	Digest   string `json:"digest"`
	Reason   string `json:"reason,omitempty"`
}

// counted is the answer to a decision that counted.
type counted struct {
	Approval  string `json:"approval"`
	State     string `json:"state"`
	Approvals int    `json:"approvals"`
	Quorum    int    `json:"quorum"`
}

func (s *Server) decide(r *http.Request, t *Token) (int, any, error) {
	var in verdict
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	v := approvals.Verdict(in.Verdict)
	switch {
	case v != approvals.Approve && v != approvals.Reject:
		return 0, nil, fail(http.StatusBadRequest, "bad_request", "verdict is approve or reject.")
	case v == approvals.Reject && in.Reason == "":
		return 0, nil, fail(http.StatusBadRequest, "bad_request", "A rejection has a reason.")
	}
	c, err := s.Views.Case(r.Context(), r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	if c.Run.Installation != s.Installation {
		return 0, nil, agent.ErrNotFound
	}
	out, err := s.Door.Decide(r.Context(), decisions.Attempt{
		ID: "api/" + rand.Text(), Approval: c.Approval.ID, Revision: in.Revision, Digest: in.Digest, Verdict: v, Text: in.Reason,
		Who: t.Owner, Via: "api, token " + t.Name,
	})
	if err != nil {
		return 0, nil, err
	}
	if out.Refused != "" {
		return 0, nil, refused(out)
	}
	a := &out.Case.Approval
	return http.StatusOK, counted{Approval: a.ID, State: string(a.State), Approvals: a.Approvals(), Quorum: a.Current().Requirement.Quorum}, nil
}

// refused says why a decision did not count; the code is that of a click's refusal.
func refused(out decisions.Outcome) *failure {
	status := http.StatusForbidden
	switch out.Refused {
	case "unknown":
		status = http.StatusNotFound
	case "settled", "stale", "counted", "superseded", "withdrawn":
		status = http.StatusConflict
	case "cannot_check":
		status = http.StatusServiceUnavailable
	}
	message := "It was not counted."
	if out.Detail != "" {
		message += " (" + out.Detail + ")"
	}
	return fail(status, out.Refused, message)
}
