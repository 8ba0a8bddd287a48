package approvals_test

import (
	"testing"

	"countersign/approvals"
	"countersign/approvals/policy"
)

// A quorum is of distinct people whose word on the current revision stands.
func TestApprovers(t *testing.T) {
	t.Parallel()
	by := func(team, user string, revision int, v approvals.Verdict, void bool) approvals.Decision {
		return approvals.Decision{By: policy.Actor{Team: team, User: user}, Revision: revision, Verdict: v, Void: void}
	}
	for name, tt := range map[string]struct {
		decisions []approvals.Decision
		edits     bool // approve
		want      int
	}{
		"two people":                  {[]approvals.Decision{by("T1", "U1", 2, approvals.Approve, false), by("T1", "U2", 2, approvals.Approve, false)}, false, 2},
		"one person twice":            {[]approvals.Decision{by("T1", "U1", 2, approvals.Approve, false), by("T1", "U1", 2, approvals.Approve, false)}, false, 1},
		"one person, two workspaces":  {[]approvals.Decision{by("T1", "U1", 2, approvals.Approve, false), by("T2", "U1", 2, approvals.Approve, false)}, false, 1},
		"a void one":                  {[]approvals.Decision{by("T1", "U1", 2, approvals.Approve, true), by("T1", "U2", 2, approvals.Approve, false)}, false, 1},
		"of the revision before":      {[]approvals.Decision{by("T1", "U1", 1, approvals.Approve, false), by("T1", "U2", 2, approvals.Approve, false)}, false, 1},
		"an edit that approves":       {[]approvals.Decision{by("T1", "U1", 2, approvals.Edit, false), by("T1", "U2", 2, approvals.Approve, false)}, true, 2},
		"an edit that does not":       {[]approvals.Decision{by("T1", "U1", 2, approvals.Edit, false), by("T1", "U2", 2, approvals.Approve, false)}, false, 1},
		"its editor approves as well": {[]approvals.Decision{by("T1", "U1", 2, approvals.Edit, false), by("T1", "U1", 2, approvals.Approve, false)}, true, 1},
		"a rejection is no approval":  {[]approvals.Decision{by("T1", "U1", 2, approvals.Reject, false)}, true, 0},
	} {
		a := approvals.Approval{
			Revision: 2, Decisions: tt.decisions,
			Revisions: []approvals.Revision{{N: 1}, {N: 2, Requirement: policy.Requirement{Quorum: 2, EditApproves: tt.edits}}},
		}
		if got := a.Approvals(); got != tt.want || a.Enough() != (tt.want >= 2) {
			t.Errorf("%s: %d people, enough: %v", name, got, a.Enough())
		}
	}
}
