package store

import (
	"errors"
	"strings"

	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/tools"
)

// approvalRow is a row of approvals.
type approvalRow struct {
	ID            string
	Run           string
	Step          int
	Tool          string
	Risk          string
	Channel       string
	ThreadTS      string
	State         string
	Revision      int
	Version       int64
	OpenedAt      int64
	ExpiresAt     int64
	SettledAt     int64
	RequesterTeam string
	RequesterUser string
	Again         string
	Why           string
	ClaimTeam     string
	ClaimUser     string
	ClaimUntil    int64
	Reminded      int
	EscalatedAt   int64
	Bundle        int
	Shapers       string // "team/user team/user"
}

// TableName names the table.
func (approvalRow) TableName() string { return "approvals" }

func newApprovalRow(a *approvals.Approval) approvalRow {
	return approvalRow{
		ID: a.ID, Run: a.Run, Step: a.Step, Tool: clean(a.Tool), Risk: string(a.Risk), Channel: a.Channel,
		ThreadTS: a.ThreadTS, State: string(a.State), Revision: a.Revision, Version: a.Version,
		OpenedAt: micros(a.OpenedAt), ExpiresAt: micros(a.ExpiresAt), SettledAt: micros(a.SettledAt),
		RequesterTeam: a.Requester.Team, RequesterUser: a.Requester.User, Again: a.Again, Why: clean(a.Why),
		ClaimTeam: a.Claimer.Team, ClaimUser: a.Claimer.User, ClaimUntil: micros(a.ClaimUntil), Reminded: a.Reminded, EscalatedAt: micros(a.Escalated), Bundle: a.Bundle,
		Shapers: namesOf(a.Shapers),
	}
}

func namesOf(people []policy.Actor) string {
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.Team + "/" + p.User
	}
	return strings.Join(names, " ")
}

func peopleIn(names string) []policy.Actor {
	var out []policy.Actor
	for _, name := range strings.Fields(names) {
		team, user, _ := strings.Cut(name, "/")
		out = append(out, policy.Actor{Team: team, User: user})
	}
	return out
}

func (w *approvalRow) approval() *approvals.Approval {
	return &approvals.Approval{
		ID: w.ID, Run: w.Run, Step: w.Step, Tool: w.Tool, Risk: tools.Risk(w.Risk), Channel: w.Channel,
		ThreadTS: w.ThreadTS, State: approvals.State(w.State), Revision: w.Revision, Version: w.Version,
		OpenedAt: instant(w.OpenedAt), ExpiresAt: instant(w.ExpiresAt), SettledAt: instant(w.SettledAt),
		Requester: policy.Actor{Team: w.RequesterTeam, User: w.RequesterUser}, Again: w.Again, Why: w.Why,
		Claimer: policy.Actor{Team: w.ClaimTeam, User: w.ClaimUser}, ClaimUntil: instant(w.ClaimUntil), Reminded: w.Reminded, Escalated: instant(w.EscalatedAt), Bundle: w.Bundle,
		Shapers: peopleIn(w.Shapers),
	}
}

// revisionRow is a row of revisions.
type revisionRow struct {
	Approval    string
	N           int
	Args        string
	Requirement string
	Contract    string
	Preview     string
	Digest      string
	ByTeam      string
	ByUser      string
	Reason      string
	At          int64
}

// TableName names the table.
func (revisionRow) TableName() string { return "revisions" }

func newRevisionRow(approval string, r *approvals.Revision) (revisionRow, error) {
	requirement, err := encode(r.Requirement)
	preview := ""
	if r.Preview != nil {
		p, err2 := encode(r.Preview)
		preview, err = p, errors.Join(err, err2)
	}
	return revisionRow{
		Approval: approval, N: r.N, Args: clean(string(r.Args)), Requirement: requirement, Contract: r.Contract,
		Preview: preview, Digest: r.Digest, ByTeam: r.By.Team, ByUser: r.By.User, Reason: clean(r.Reason), At: micros(r.At),
	}, err
}

func (w *revisionRow) revision() (approvals.Revision, error) {
	r := approvals.Revision{
		N: w.N, Args: raw(w.Args), Contract: w.Contract, Digest: w.Digest,
		By: policy.Actor{Team: w.ByTeam, User: w.ByUser}, Reason: w.Reason, At: instant(w.At),
	}
	err := decode(w.Requirement, &r.Requirement)
	if w.Preview != "" {
		r.Preview = new(tools.Preview)
		err = errors.Join(err, decode(w.Preview, r.Preview))
	}
	return r, err
}

// decisionRow is a row of decisions.
type decisionRow struct {
	ID       string
	Approval string
	N        int64
	Revision int
	Verdict  string
	ByTeam   string
	ByUser   string
	Reason   string
	Via      string
	Void     bool
	Glass    bool
	At       int64
}

// TableName names the table.
func (decisionRow) TableName() string { return "decisions" }

func newDecisionRow(approval string, n int64, d *approvals.Decision) decisionRow {
	return decisionRow{
		ID: d.ID, Approval: approval, N: n, Revision: d.Revision, Verdict: string(d.Verdict), ByTeam: d.By.Team,
		ByUser: d.By.User, Reason: clean(d.Reason), Via: d.Via, Void: d.Void, Glass: d.Glass, At: micros(d.At),
	}
}

func (w *decisionRow) decision() approvals.Decision {
	return approvals.Decision{
		ID: w.ID, Approval: w.Approval, Revision: w.Revision, Verdict: approvals.Verdict(w.Verdict),
		By: policy.Actor{Team: w.ByTeam, User: w.ByUser}, Reason: w.Reason, Via: w.Via, Void: w.Void, Glass: w.Glass, At: instant(w.At),
	}
}
