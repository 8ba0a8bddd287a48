package policy

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/tools"
)

// What a person has to look at each time is covered by no standing grant: data that
// leaves after a private read, a budget that is used up, a rule that cannot be read.
func TestPersonalRulings(t *testing.T) {
	t.Parallel()
	ana := Person{Actor: Actor{Team: "T1", User: "U1"}, Standing: Member}
	post := tools.Spec{Name: "post", Risk: tools.High, Effects: true, Egress: true}
	refund := tools.Spec{Name: "refund", Risk: tools.High, Effects: true}
	rule := Rule{Name: "rules[0]", Tool: "refund", When: "args.amount <= 20.0", Risk: tools.Medium, AtMost: &AtMost{Count: 1, Within: time.Hour}}
	mail := tools.Spec{Name: "mail", Risk: tools.High, Effects: true, Egress: true}
	rules, err := NewRules([]Rule{rule, {Name: "rules[1]", Tool: "mail", Approvers: []string{"finance"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &Policy{Default: Requirement{Approvers: []string{"manager"}, Quorum: 1, TTL: time.Hour}, Rules: rules}
	for name, c := range map[string]struct {
		q    Question
		want bool
	}{
		"a HIGH call that sends data out after a private read": {Question{Spec: post, Asker: ana, Read: []string{"crm"}}, true},
		"the same before it":              {Question{Spec: post, Asker: ana}, false},
		"a plain HIGH call":               {Question{Spec: refund, Args: json.RawMessage(`{"amount":50}`), Asker: ana}, false},
		"a rule that cannot be evaluated": {Question{Spec: refund, Args: json.RawMessage(`{}`), Asker: ana}, true},
		"a rule of its own says who decides, not that nobody looks": {Question{Spec: mail, Asker: ana, Read: []string{"crm"}}, true},
	} {
		if r := p.Judge(c.q); r.Outcome != Ask || r.Personal != c.want {
			t.Errorf("%s: %s, personal %v", name, r.Outcome, r.Personal)
		}
	}
	small := Question{Spec: refund, Args: json.RawMessage(`{"amount":5}`), Asker: ana}
	if r := p.Judge(small).AfterAll(); !r.Personal {
		t.Error("a budget that is used up leaves room for a standing grant")
	}
}
