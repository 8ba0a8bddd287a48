package card_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
	"countersign/tools"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain keeps the property tests short unless more is asked for.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	m.Run()
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, raw.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if diff := cmp.Diff(string(want), raw.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// cards are approvals in every state that people see.
func cards(t testing.TB) map[string]*decisions.Case {
	lapsed := decided(refund(t), approvals.Lapsed, approvals.Approve, ben, "")
	lapsed.Step.Approval = "a2"
	superseded := settled(refund(t), approvals.Superseded)
	superseded.Step.Approval = "a2"
	again := refund(t)
	again.Approval.Again, again.Approval.Why = "a0", `the effect changed: shown was "3 rows", now it is "3,000 rows"`
	half := opened(t, "refund", `{"amount":1500,"order_id":"1042"}`, quorum(2))
	decided(half, approvals.Pending, approvals.Approve, carla, "")
	cli := decided(refund(t), approvals.Approved, approvals.Approve, ben, "")
	cli.Approval.Decisions[0].Via = "cli, ops@console"
	void := opened(t, "refund", `{"amount":1500,"order_id":"1042"}`, quorum(2))
	decided(void, approvals.Pending, approvals.Approve, carla, "")
	void.Approval.Decisions[0].Void = true
	private := opened(t, "shop_execute", `{"sql":"UPDATE customers SET balance = 0"}`)
	return map[string]*decisions.Case{
		"pending":          refund(t),
		"pending-noargs":   opened(t, "restart", `{}`, preview(nil)),
		"pending-long":     opened(t, "write_file", `{"path":"notes.txt","text":`+quoted(strings.Repeat("A long line of words. ", 400))+`}`),
		"pending-sql":      opened(t, "execute_sql", `{"sql":"UPDATE customers\nSET balance = 0\nWHERE name = \"张三\""}`, preview(&tools.Preview{Summary: "1 row would change", Detail: "id  balance\n 7  50 -> 0"})),
		"pending-masked":   opened(t, "post", `{"token":"xoxb-123456789012-abcdefghijkl","text":"hi"}`),
		"pending-hostile":  opened(t, "post", `{"text":"<!channel> a&b \u202e reversed","url":"https://раypal.example/login","f":"a\n\n\n\n\n\nb"}`, preview(&tools.Preview{Untried: "The tool declares nothing to read beforehand.", Summary: "POST /"})),
		"pending-nobody":   opened(t, "refund", `{"amount":1}`, func(o *approvals.Opening) { o.Needs.Approvers = nil }),
		"pending-private":  private,
		"pending-again":    again,
		"pending-quorum":   half,
		"pending-edited":   edited(t, refund(t), `{"amount":25.5,"order_id":"1042","tags":["vip"]}`, "It was 25.50, see the invoice."),
		"pending-void":     edited(t, void, `{"amount":1600,"order_id":"1042"}`, ""),
		"approved":         decided(refund(t), approvals.Approved, approvals.Approve, ben, ""),
		"approved-cli":     cli,
		"rejected":         decided(refund(t), approvals.Rejected, approvals.Reject, ben, "The parcel came *yesterday*. <!here>"),
		"answered":         decided(refund(t), approvals.Answered, approvals.Respond, ben, "It was refunded yesterday."),
		"expired":          decided(refund(t), approvals.Expired, approvals.Expire, policy.Actor{}, ""),
		"cancelled":        settled(refund(t), approvals.Cancelled),
		"superseded":       superseded,
		"withdrawn":        settled(refund(t), approvals.Superseded),
		"lapsed":           lapsed,
		"redeemed-running": ran(refund(t), agent.StepExecuting, ""),
		"redeemed-done":    ran(refund(t), agent.StepSucceeded, "POST /orders/1042/refund: 200 OK"),
		"redeemed-failed":  ran(refund(t), agent.StepFailed, "The order 1042 does not exist."),
		"redeemed-unknown": ran(refund(t), agent.StepUncertain, ""),
		"redeemed-private": ran(opened(t, "shop_execute", `{"sql":"UPDATE customers SET balance = 0"}`), agent.StepSucceeded, "updated 3 rows"),
		"redeemed-edited":  ran(edited(t, opened(t, "delete_document", `{"id":"doc_42"}`), `{"id":"doc_43"}`, "42 is still in use"), agent.StepSucceeded, "The document doc_43 is in the trash."),
	}
}

func settled(c *decisions.Case, s approvals.State) *decisions.Case {
	c.Approval.State, c.Approval.SettledAt = s, at(4*time.Minute)
	return c
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestCards(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for name, c := range cards(t) {
		for _, lang := range []string{"en", "zh"} {
			t.Run(name+"."+lang, func(t *testing.T) {
				t.Parallel()
				w := where(lang)
				w.Read = []string{"database shop", "docs/returns.md"}
				m := r.Approval(c, w)
				accepted(t, m)
				golden(t, "card-"+name+"."+lang, m)
			})
		}
	}
}

// step is one step of a run.
func step(n int, tool string, state agent.StepState, change ...func(*agent.Step)) agent.Step {
	s := agent.Step{
		Run: "r1", N: n, Turn: n, Tool: tool, State: state, Thought: "Because " + tool + " tells.", Proposed: json.RawMessage(`{"query":"balance of 张三"}`), Risk: tools.Low,
		ProposedAt: at(time.Second * time.Duration(n)), StartedAt: at(time.Second * time.Duration(n)),
	}
	if state.Settled() {
		s.EndedAt, s.Summary = s.StartedAt.Add(1200*time.Millisecond), "1 row"
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func effect(text string) func(*agent.Step) {
	return func(s *agent.Step) { s.Effects, s.Effect, s.Risk, s.Approval = true, text, tools.High, "a1" }
}

// works are runs in every state that people see.
func works(t testing.TB) map[string]*agent.Work {
	work := func(state agent.RunState, steps ...agent.Step) *agent.Work {
		w := &agent.Work{Run: run("What is the balance of 张三?"), Steps: steps, Approvals: map[string]*approvals.Approval{}}
		w.Run.State = state
		if agent.RunMachine.Terminal(state) {
			w.Run.EndedAt, w.Run.Spent = at(12*time.Second), agent.Spent{Active: 12 * time.Second, Prompt: 1200, Completion: 34, Steps: len(steps)}
		}
		return w
	}
	done := step(1, "query_sql", agent.StepSucceeded)
	planned := work(agent.Executing, done, step(2, "send_reminder", agent.StepExecuting))
	planned.Run.Plan = []agent.PlanItem{{Title: "Look up the balance", Status: "complete"}, {Title: "Send a reminder", Status: "in_progress"}, {Title: "Tell <@UANA> & co", Status: "pending"}}
	waiting := work(agent.WaitingApproval, done, step(2, "refund", agent.StepAwaiting, effect("")))
	a := refund(t).Approval
	waiting.Approvals["a1"] = &a
	asking := work(agent.WaitingInput, done, step(2, "ask_user", agent.StepAsking, func(s *agent.Step) { s.Question = "Which 张三: the one in *Berlin* or <!here>?" }))
	asking.Run.InputBy = at(24 * time.Hour)
	limit := work(agent.WaitingInput, done)
	limit.Run.Closing, limit.Run.Halt, limit.Run.Answer, limit.Run.InputBy = agent.HaltMaxSteps, agent.HaltMaxSteps, "So far: the balance is **50**.", at(24*time.Hour)
	var many []agent.Step
	for i := range 20 {
		many = append(many, step(i+1, "query_sql", agent.StepSucceeded))
	}
	private := work(agent.Success, step(1, "shop_execute", agent.StepSucceeded, effect("updated 3 rows in customers")))
	private.Run.Answer = "Done."
	answered := work(agent.Success, done, step(2, "refund", agent.StepSucceeded, effect("refund #7, 20 EUR")))
	answered.Run.Answer = "The balance is **50**.\n\n| name | balance |\n|---|---|\n| 张三 | 50 |\n\n<!channel> [x](https://evil.example)"
	failed := work(agent.Failed, done)
	failed.Run.Halt, failed.Run.Answer = agent.HaltError, "error:quota: the account has no credit left\n• query_sql: 1 row"
	stopped := work(agent.Cancelled, done, step(2, "refund", agent.StepCancelled))
	stopped.Run.Halt = agent.HaltCancelled
	refused := work(agent.Cancelled)
	refused.Run.Halt, refused.Run.Answer = agent.HaltDenied, "refused:not_member"
	unknown := work(agent.WaitingInput, step(1, "refund", agent.StepUncertain, effect(""), func(s *agent.Step) {
		s.Executed, s.StartedAt, s.EndedAt = json.RawMessage(`{"amount":20,"order_id":"1042"}`), at(time.Minute), time.Time{}
	}))
	redeemed := ran(refund(t), agent.StepUncertain, "").Approval
	unknown.Approvals["a1"] = &redeemed
	return map[string]*agent.Work{
		"init": work(agent.Init), "planning": work(agent.Planning, done), "planned": planned, "waiting": waiting, "asking": asking, "limit": limit,
		"reflect": work(agent.Reflect, step(1, "read_file", agent.StepFailed)), "many": work(agent.Planning, many...), "private": private,
		"answered": answered, "failed": failed, "stopped": stopped, "refused": refused, "unknown": unknown,
	}
}

func TestProgressAndStatus(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for name, w := range works(t) {
		for _, lang := range []string{"en", "zh"} {
			t.Run(name+"."+lang, func(t *testing.T) {
				t.Parallel()
				for kind, m := range map[string]card.Message{"progress": r.Progress(w, where(lang)), "status": r.Status(w, where(lang))} {
					accepted(t, m)
					golden(t, kind+"-"+name+"."+lang, m)
				}
			})
		}
	}
}

func TestProgressWithoutNewerBlocks(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	r.Plain = true
	for _, name := range []string{"planned", "answered"} {
		m := r.Progress(works(t)[name], where("en"))
		accepted(t, m)
		for _, b := range m.Blocks {
			if b.BlockType() == slack.MBTPlan || b.BlockType() == slack.MBTContainer {
				t.Errorf("%s has a %s", name, b.BlockType())
			}
		}
		golden(t, "progress-plain-"+name, m)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for _, name := range []string{"answered", "private", "failed", "stopped", "refused", "limit", "unknown"} {
		for _, lang := range []string{"en", "zh"} {
			t.Run(name+"."+lang, func(t *testing.T) {
				t.Parallel()
				w := where(lang)
				w.Approvers = map[string][]policy.Actor{"a1": {ben, carla}}
				m := r.Answer(works(t)[name], w)
				accepted(t, m)
				golden(t, "answer-"+name+"."+lang, m)
			})
		}
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	all := works(t)
	answered, happened, stopped, again := works(t)["asking"], works(t)["unknown"], works(t)["unknown"], works(t)["unknown"]
	answered.Steps[1].State = agent.StepAnswered
	happened.Steps[0].State = agent.StepSucceeded
	stopped.Steps[0].State, stopped.Steps[0].Code = agent.StepFailed, "stopped"
	pending := refund(t).Approval
	again.Approvals["a1"] = &pending
	early := where("en")
	early.Now = at(time.Minute + 10*time.Second)
	for name, q := range map[string]struct {
		w    *agent.Work
		step int
		at   card.Where
	}{
		"asking.en": {all["asking"], 2, where("en")}, "asking.zh": {all["asking"], 2, where("zh")}, "answered.en": {answered, 2, where("en")},
		"unknown.en": {all["unknown"], 1, where("en")}, "unknown.zh": {all["unknown"], 1, where("zh")}, "unknown-early.en": {all["unknown"], 1, early},
		"happened.en": {happened, 1, where("en")}, "stopped.en": {stopped, 1, where("en")}, "again.en": {again, 1, where("en")}, "gone.en": {all["init"], 9, where("en")},
	} {
		m := r.Question(q.w, q.step, q.at)
		accepted(t, m)
		golden(t, "question-"+name, m)
		offered := strings.Contains(string(marshal(t, m.Blocks)), "uncertain_run")
		if want := strings.HasPrefix(name, "unknown.") && q.at.Now.After(at(time.Minute+16*time.Second)); offered != want {
			t.Errorf("%s: running it again is offered: %v, want %v", name, offered, want)
		}
	}
}

func TestModals(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	c := cards(t)
	for _, lang := range []string{"en", "zh"} {
		show, fits := r.ShowModal(c["pending-masked"], lang)
		edit, can := r.EditModal(c["pending-edited"], lang)
		if !fits || !can {
			t.Fatal("a small call does not fit a form")
		}
		for name, v := range map[string]slack.ModalViewRequest{
			"show": show, "edit": edit, "reject": r.RejectModal(c["pending"], lang), "respond": r.RespondModal(c["pending"], lang),
			"loading": r.Loading(lang, "loading"), "note": r.Note(lang, "unfit", "", nil),
			"settled": r.SettledModal(c["rejected"], map[string]string{"amount": "30", "reason": "it was <more>"}, lang),
			"stale":   r.SettledModal(c["pending-edited"], nil, lang), "gone": r.SettledModal(nil, nil, lang),
		} {
			acceptedModal(t, v)
			golden(t, "modal-"+name+"."+lang, v)
		}
	}
}

func TestHomeAndHelp(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	second := opened(t, "shop_execute", `{"sql":"x"}`, func(o *approvals.Opening) { o.ID = "a2" })
	runs := []agent.Run{works(t)["answered"].Run, works(t)["waiting"].Run}
	specs := []tools.Spec{
		{Name: "query_sql", Description: "Query the shop. Read only.", Risk: tools.Low},
		{Name: "refund", Description: "Refund an order.", Risk: tools.High, Roles: []string{"support"}},
		{Name: "drop", Description: "Drop it.", Risk: tools.High, Roles: []string{"root"}},
	}
	for _, lang := range []string{"en", "zh"} {
		for name, v := range map[string]slack.HomeTabViewRequest{
			"home": r.Home(card.Home{Waiting: []decisions.Case{*refund(t), *second}, Runs: runs}, where(lang)), "home-empty": r.Home(card.Home{}, where(lang)),
			"home-after": r.Home(card.Home{Reader: ben, Reviews: []decisions.Case{*alone(t)}, Granting: []decisions.Case{*granting(t)}}, where(lang)),
		} {
			if err := card.CheckHome(v); err != nil {
				t.Error(err)
			}
			golden(t, name+"."+lang, v)
		}
		m := r.Help(lang, specs[:2])
		accepted(t, m)
		golden(t, "help."+lang, m)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	c := cards(t)
	for _, lang := range []string{"en", "zh"} {
		var said strings.Builder
		for _, ask := range []struct {
			code, detail string
			c            *decisions.Case
		}{
			{"unknown", "", nil}, {"settled", "redeemed", c["redeemed-done"]}, {"settled", "approved", c["approved"]}, {"settled", "rejected", c["rejected"]},
			{"settled", "answered", c["answered"]}, {"settled", "expired", c["expired"]}, {"settled", "expired", c["pending"]}, {"settled", "cancelled", c["cancelled"]},
			{"settled", "superseded", c["superseded"]}, {"settled", "superseded", c["withdrawn"]}, {"superseded", "", c["superseded"]}, {"withdrawn", "denied: not `here` <!here>", c["withdrawn"]}, {"settled", "lapsed", c["lapsed"]}, {"settled", "succeeded", nil}, {"settled", "uncertain", nil}, {"settled", "", nil},
			{"not_approver", "manager or finance", c["pending"]}, {"bad_edit", "invalid at /amount: it is `-1` <!here>", c["pending"]}, {"requester", "", c["pending"]},
			{"no_such_code", "", nil},
		} {
			fmt.Fprintf(&said, "%s %s: %s\n", ask.code, ask.detail, r.Refusal(lang, ask.code, ask.detail, ask.c))
		}
		golden(t, "refusals."+lang, strings.Split(said.String(), "\n"))
	}
}
