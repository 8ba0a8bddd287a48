package card_test

import (
	"strings"
	"testing"

	"countersign/agent"
)

// A call of unknown outcome runs again as it was or not at all: its card offers neither
// an edit nor an answer in its place.
func TestTheCardOfACallOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	c := refund(t)
	c.Step.State = agent.StepUncertain
	raw := string(marshal(t, renderer(t).Approval(c, where("en")).Blocks))
	for button, want := range map[string]bool{
		"approval_approve": true, "approval_reject": true, "approval_claim": true, "approval_edit": false, "approval_respond": false,
	} {
		if strings.Contains(raw, button) != want {
			t.Errorf("%s: shown is %v", button, !want)
		}
	}
}
