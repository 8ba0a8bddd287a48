package main

import (
	"crypto/rand"
	"fmt"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/words"
	"countersign/internal/app"
	"countersign/internal/fault"
)

// decide attempts the verdict on exactly what was printed.
func (c *approvalsDecideCmd) decide(e *env, o *app.Operator, shown *decisions.Case) error {
	door, self, err := o.Door(e.ctx)
	if err != nil {
		return err
	}
	verdict := approvals.Approve
	if c.Verdict == "reject" {
		verdict = approvals.Reject
	}
	if shown.Run.Installation != self.Team {
		return fault.New(fault.Invalid, "This approval belongs to the workspace %s, and the bot token to %s.", shown.Run.Installation, self.Team)
	}
	who, proved := policy.Actor{Team: self.Team, User: c.By}, false
	if c.Code != "" {
		refused, err := door.Prove(e.ctx, who, c.Code)
		if err != nil {
			return err
		}
		if refused != "" {
			return fault.New(fault.Forbidden, "It was not counted. %s", refusal(decisions.Outcome{Refused: refused}))
		}
		proved = true
	}
	out, err := door.Decide(e.ctx, decisions.Attempt{
		ID: "cli/" + rand.Text(), Approval: shown.Approval.ID, Revision: shown.Approval.Revision, Digest: shown.Approval.Current().Digest,
		Verdict: verdict, Text: c.Reason, Who: who, Proved: proved, Via: via(),
	})
	if err != nil {
		return err
	}
	if out.Refused != "" {
		return fault.New(fault.Forbidden, "It was not counted. %s", refusal(out))
	}
	fmt.Fprintf(e.out, "\n%s\n", said(out.Case))
	return nil
}

// said is what became of the approval.
func said(c *decisions.Case) string {
	a := &c.Approval
	switch a.State {
	case approvals.Pending:
		return fmt.Sprintf("Counted: %d of %d people have approved.", a.Approvals(), a.Current().Requirement.Quorum)
	case approvals.Redeemed:
		return "The approval is approved." // and the call runs already
	}
	return fmt.Sprintf("The approval is %s.", a.State)
}

// refusal is the sentence that a click would get.
func refusal(out decisions.Outcome) string {
	switch out.Refused {
	case "settled":
		return fmt.Sprintf("It is settled already: %s.", out.Detail)
	case "not_approver":
		return fmt.Sprintf("Only people with the role %s may decide this.", out.Detail)
	}
	catalogue, err := words.Load()
	if err != nil {
		return out.Refused
	}
	return catalogue.In("en").Say(out.Refused, "detail", out.Detail)
}
