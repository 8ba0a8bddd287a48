package policy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/tools"
)

var (
	standard = Requirement{Approvers: []string{"manager"}, Quorum: 1, TTL: time.Hour, EditApproves: true}
	ana      = Person{Actor: Actor{"T1", "U1"}, Standing: Member}
	mgr      = Person{Actor: Actor{"T1", "U2"}, Standing: Member, Roles: []string{"manager"}}
	refund   = tools.Spec{Name: "refund", Risk: tools.High, Effects: true}
	look     = tools.Spec{Name: "look", Risk: tools.Low}
)

func compiledPolicy(t *testing.T, rules ...Rule) *Policy {
	t.Helper()
	r, err := NewRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	return &Policy{Default: standard, Rules: r, Roles: map[string]Role{"support": {Channels: []string{"C1"}}}}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	small := Rule{Name: "rules[0]", Tool: "refund", When: "args.amount <= 20.0", Risk: tools.Medium, AtMost: &AtMost{Count: 5, Sum: "args.amount", Limit: 100, Within: 24 * time.Hour}}
	large := Rule{Name: "rules[1]", Tool: "refund", When: "args.amount > 1000.0", Approvers: []string{"finance"}, Quorum: 2, TTL: 15 * time.Minute}
	tests := []struct {
		name    string
		rules   []Rule
		q       Question
		outcome Outcome
		risk    tools.Risk
		quorum  int
		why     string
	}{
		{"low runs", nil, Question{Spec: look, Asker: ana}, Run, tools.Low, 0, "own risk"},
		{"high asks", nil, Question{Spec: refund, Asker: ana}, Ask, tools.High, 1, "own risk"},
		{"first match lowers", []Rule{small, large}, Question{Spec: refund, Args: json.RawMessage(`{"amount":20}`), Asker: ana}, Run, tools.Medium, 0, "rules[0]"},
		{"second match raises", []Rule{small, large}, Question{Spec: refund, Args: json.RawMessage(`{"amount":1500}`), Asker: ana}, Ask, tools.High, 2, "rules[1]"},
		{"no match keeps the default", []Rule{small, large}, Question{Spec: refund, Args: json.RawMessage(`{"amount":500}`), Asker: ana}, Ask, tools.High, 1, "own risk"},
		{"a missing argument is never no match", []Rule{small, large}, Question{Spec: refund, Args: json.RawMessage(`{}`), Asker: ana}, Ask, tools.High, 2, "cannot be evaluated"},
		{"a text where a number is wanted", []Rule{small, large}, Question{Spec: refund, Args: json.RawMessage(`{"amount":"20"}`), Asker: ana}, Ask, tools.High, 2, "cannot be evaluated"},
		{"another tool's rule", []Rule{large}, Question{Spec: look, Args: json.RawMessage(`{}`), Asker: ana}, Run, tools.Low, 0, "own risk"},
		{"deny", []Rule{{Name: "rules[0]", Tool: "refund", Deny: "not on Sundays"}}, Question{Spec: refund, Asker: ana}, Deny, tools.High, 0, "not on Sundays"},
		{"raise a read", []Rule{{Name: "rules[0]", Tool: "look", Risk: tools.High}}, Question{Spec: look, Asker: ana}, Ask, tools.High, 1, "rules[0]"},
		{"by role", []Rule{{Name: "rules[0]", When: "'manager' in roles", Risk: tools.High}}, Question{Spec: look, Asker: mgr}, Ask, tools.High, 1, "rules[0]"},
		{"by what was read", []Rule{{Name: "rules[0]", When: "run.read.exists(s, s.startsWith('shop'))", Risk: tools.High}}, Question{Spec: look, Asker: ana, Read: []string{"shop.orders"}}, Ask, tools.High, 1, "rules[0]"},
		{"egress after a private read", nil, Question{Spec: tools.Spec{Name: "post", Risk: tools.Medium, Effects: true, Egress: true}, Asker: ana, Read: []string{"crm"}}, Ask, tools.High, 1, "crm"},
		{"egress of which a rule names the tool alone", []Rule{{Name: "rules[0]", Tool: "post", Quorum: 2}}, Question{Spec: tools.Spec{Name: "post", Risk: tools.Medium, Effects: true, Egress: true}, Asker: ana, Read: []string{"crm"}}, Ask, tools.High, 2, "crm"},
		{"egress of which a rule names the tool and the source", []Rule{{Name: "rules[0]", Tool: "post", When: "run.read == ['crm']"}}, Question{Spec: tools.Spec{Name: "post", Risk: tools.Medium, Effects: true, Egress: true}, Asker: ana, Read: []string{"crm"}}, Run, tools.Medium, 0, "rules[0]"},
		{"egress that a rule lowers, above one that denies it", []Rule{{Name: "rules[0]", Tool: "refund", Risk: tools.Low, AtMost: &AtMost{Count: 5, Within: time.Hour}}, {Name: "rules[1]", Tool: "refund", Deny: "not on Sundays"}}, Question{Spec: tools.Spec{Name: "refund", Risk: tools.Medium, Effects: true, Egress: true}, Asker: ana, Read: []string{"crm"}}, Deny, tools.High, 0, "not on Sundays"},
		{"egress that a rule lowers, above one that asks for more", []Rule{{Name: "rules[0]", Tool: "refund", Risk: tools.Low, AtMost: &AtMost{Count: 5, Within: time.Hour}}, {Name: "rules[1]", Tool: "refund", Quorum: 2}}, Question{Spec: tools.Spec{Name: "refund", Risk: tools.Medium, Effects: true, Egress: true}, Asker: ana, Read: []string{"crm"}}, Ask, tools.High, 2, "crm"},
		{"a number that no double holds, and a deny", []Rule{{Name: "rules[0]", Tool: "look", Deny: "not today"}}, Question{Spec: look, Args: json.RawMessage(`{"n":` + "1" + strings.Repeat("0", 309) + `}`), Asker: ana}, Deny, tools.High, 0, "not today"},
		{"the same and a quorum", []Rule{{Name: "rules[0]", Tool: "look", Quorum: 2}}, Question{Spec: look, Args: json.RawMessage(`{"n":` + "1" + strings.Repeat("0", 309) + `}`), Asker: ana}, Ask, tools.High, 2, "cannot be evaluated"},
		{"role needed to ask", nil, Question{Spec: tools.Spec{Name: "x", Roles: []string{"manager"}}, Asker: ana}, NotAllowed, "", 0, "manager"},
		{"role by channel lets ask", nil, Question{Spec: tools.Spec{Name: "x", Risk: tools.Low, Roles: []string{"support"}}, Asker: ana, Channel: "C1"}, Run, tools.Low, 0, "own risk"},
		{"tool of another channel", nil, Question{Spec: tools.Spec{Name: "x", Channels: []string{"C2"}}, Asker: ana, Channel: "C1"}, NotAllowed, "", 0, "channel"},
		{"lowering that cannot be counted", []Rule{{Name: "rules[0]", Tool: "refund", Risk: tools.Low}}, Question{Spec: refund, Asker: ana}, Ask, tools.High, 1, "cannot be counted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := compiledPolicy(t, tt.rules...).Judge(tt.q)
			if r.Outcome != tt.outcome || r.Risk != tt.risk || tt.outcome == Ask && r.Needs.Quorum != tt.quorum || !strings.Contains(r.Why, tt.why) {
				t.Errorf("got %+v, want %s %s quorum %d because of %q", r, tt.outcome, tt.risk, tt.quorum, tt.why)
			}
		})
	}
}

func TestBudgetOfALoweredRisk(t *testing.T) {
	t.Parallel()
	p := compiledPolicy(t, Rule{Name: "rules[0]", Tool: "refund", Risk: tools.Medium, AtMost: &AtMost{Count: 5, Sum: "args.amount", Limit: 100, Within: time.Hour}})
	q := Question{Spec: refund, Args: json.RawMessage(`{"amount":12.5}`), Asker: ana}
	b := p.Judge(q).Budget
	if b == nil || b.Amount != 12.5 || b.Count != 5 || b.Limit != 100 || !strings.Contains(b.Key, "U1") {
		t.Fatalf("budget %+v", b)
	}
	if r := p.Judge(q).AfterAll(); r.Outcome != Ask || r.Risk != tools.High {
		t.Errorf("used up: %+v", r)
	}
	q.Args = json.RawMessage(`{"amount":-5}`)
	if r := p.Judge(q); r.Outcome != Ask {
		t.Errorf("a negative amount would refill the budget: %+v", r)
	}
}

func TestNobodyToApprove(t *testing.T) {
	t.Parallel()
	if r := (&Policy{}).Judge(Question{Spec: refund, Asker: ana}); r.Outcome != Deny || !strings.Contains(r.Why, "approvals.approvers") {
		t.Errorf("got %+v", r)
	}
}

func TestRulesThatDoNotCompile(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"args.amount <=", "amount > 3", "1 + 1", "size(args) > 'x'"} {
		if _, err := NewRules([]Rule{{Name: "rules[0]", When: when}}); err == nil || !strings.Contains(err.Error(), "rules[0].when") {
			t.Errorf("%q: %v", when, err)
		}
	}
}

func TestMayDecide(t *testing.T) {
	t.Parallel()
	as := func(s Standing, roles ...string) Person {
		return Person{Actor: Actor{"T1", "U9"}, Standing: s, Roles: roles}
	}
	self := standard
	self.SelfApproval = true
	tests := []struct {
		name       string
		needs      Requirement
		who        Person
		requesters []Actor
		want       string
	}{
		{"manager", standard, as(Member, "manager"), []Actor{{"T1", "U1"}}, ""},
		{"no role", standard, as(Member), nil, "not_approver"},
		{"requester", standard, as(Member, "manager"), []Actor{{"T1", "U9"}}, "requester"},
		{"requester from another workspace", standard, as(Member, "manager"), []Actor{{"T2", "U9"}}, "requester"},
		{"requester where allowed", self, as(Member, "manager"), []Actor{{"T1", "U9"}}, ""},
		{"guest", standard, as(Guest), nil, "guest"},
		{"guest with another role", standard, as(Guest, "support"), nil, "guest"},
		{"named guest", standard, as(Guest, "manager"), nil, ""},
		{"named guest who asked", standard, as(Guest, "manager"), []Actor{{"T1", "U9"}}, "requester"},
		{"outsider", standard, as(Outsider, "manager"), nil, "outsider"},
		{"bot", standard, as(Bot, "manager"), nil, "bot"},
		{"deactivated", standard, as(Deactivated, "manager"), nil, "deactivated"},
		{"no standing", standard, as("", "manager"), nil, "outsider"},
		{"nobody", Requirement{}, as(Member, "manager"), nil, "not_approver"},
	}
	for _, tt := range tests {
		got := ""
		if r := tt.needs.MayDecide(tt.who, tt.requesters); r != nil {
			got = r.Code
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestStricterNeverUndercuts(t *testing.T) {
	t.Parallel()
	two := Requirement{Approvers: []string{"finance", "manager"}, Quorum: 2, TTL: time.Minute, StepUp: "totp"}
	got := Stricter(standard, two)
	if got.Quorum != 2 || got.TTL != time.Minute || got.StepUp != "totp" || got.EditApproves || len(got.Approvers) != 1 || got.Approvers[0] != "manager" {
		t.Errorf("got %+v", got)
	}
	if !Covers(got, standard) || !Covers(got, two) || Covers(standard, two) {
		t.Error("a joined requirement covers both, the weaker one does not cover the stricter")
	}
	if !Covers(standard, Requirement{Approvers: []string{"manager", "finance"}, Quorum: 1, EditApproves: true}) {
		t.Error("fewer approvers are stricter")
	}
}
