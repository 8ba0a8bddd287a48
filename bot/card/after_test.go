package card_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/card"
)

// alone is a call that one person approved in an emergency.
func alone(t testing.TB) *decisions.Case {
	c := opened(t, "refund", `{"amount":1500,"order_id":"1042"}`, quorum(2), func(o *approvals.Opening) { o.Needs.BreakGlass = []string{"oncall"} })
	decided(c, approvals.Approved, approvals.Approve, ben, "nobody *else* is awake <!here>")
	c.Approval.Decisions[0].Glass = true
	c.Approval.Review = &approvals.Review{Approval: "a1", Actor: ben, OpenedAt: at(4 * time.Minute), State: approvals.ReviewOpen}
	return c
}

// granting is an approved call with a standing grant of each kind.
func granting(t testing.TB) *decisions.Case {
	c := ran(refund(t), agent.StepSucceeded, "POST /orders/1042/refund: 200 OK")
	for i, state := range []approvals.GrantState{approvals.GrantOpen, approvals.GrantRevoked, approvals.GrantRevoked, approvals.GrantEnded, approvals.GrantVoid} {
		g := approvals.Grant{
			ID: "g" + string(rune('1'+i)), Approval: "a1", Giver: ben, Asker: ana, Most: 3, Used: i % 3, OpenedAt: at(2 * time.Minute), EndsAt: at(time.Hour),
			State: state, SettledAt: at(5 * time.Minute), Requirement: manager,
		}
		if i%2 == 0 {
			g.Fields = []string{"amount", "order_id"}
		}
		if i == 1 {
			g.By = carla // the other revoked one was an operator's doing
		}
		c.Approval.Grants = append(c.Approval.Grants, g)
	}
	return c
}

// together are two calls that one press may decide.
func together(t testing.TB) []decisions.Case {
	batch := func(o *approvals.Opening) { o.Needs.Batch = true }
	first := opened(t, "refund", `{"amount":20,"order_id":"1042"}`, batch)
	second := opened(t, "refund", `{"amount":30,"order_id":"1043"}`, batch, func(o *approvals.Opening) { o.ID, o.Step = "a2", 4 })
	first.Approval.Bundle, second.Approval.Bundle = 3, 3
	return []decisions.Case{*first, *second}
}

// The messages and forms for several calls at once, for somebody who acts alone, and for
// standing grants.
func TestCardsBesideCards(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	r.Grants = card.Bounds{Count: 20, Within: 8 * time.Hour}
	pending := alone(t)
	pending.Approval.State, pending.Approval.Decisions, pending.Approval.Review = approvals.Pending, nil, nil
	concern := alone(t)
	concern.Approval.Review.State, concern.Approval.Review.By, concern.Approval.Review.Text = approvals.ReviewConcern, carla, "It could have waited."
	over := together(t)
	over[1].Approval.State = approvals.Rejected
	for _, lang := range []string{"en", "zh"} {
		for name, m := range map[string]card.Message{
			"card-glass": r.Approval(pending, where(lang)), "card-alone": r.Approval(alone(t), where(lang)), "card-grants": r.Approval(granting(t), where(lang)),
			"review": r.Review(alone(t), where(lang)), "review-concern": r.Review(concern, where(lang)),
			"bundle": r.Bundle(together(t), where(lang)), "bundle-over": r.Bundle(over, where(lang)),
		} {
			accepted(t, m)
			golden(t, name+"."+lang, m)
		}
		both := card.Together(together(t))
		several, all := r.BundleModal(both, lang)
		glass, whole := r.GlassModal(pending, lang)
		grant, fits := r.GrantModal(granting(t), lang)
		if !all || !whole || !fits {
			t.Fatal("a small call does not fit a form")
		}
		for name, v := range map[string]slack.ModalViewRequest{
			"bundle": several, "bundle-reject": r.BundleRejectModal(both, lang), "glass": glass, "grant": grant,
			"review": r.ReviewModal(alone(t), false, lang), "concern": r.ReviewModal(alone(t), true, lang),
		} {
			acceptedModal(t, v)
			golden(t, "modal-"+name+"."+lang, v)
		}
	}
}

// A Home that cannot list everything says how much more there is and where it stands,
// and stays within Slack's limits.
func TestHomeSaysHowMuchMoreThereIs(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	h := card.Home{Reader: ben}
	another := func(c *decisions.Case, n int) decisions.Case {
		c.Approval.ID = fmt.Sprintf("a%d", n)
		for i := range c.Approval.Grants {
			c.Approval.Grants[i].ID = fmt.Sprintf("g%d-%d", n, i)
		}
		return *c
	}
	run := works(t)["answered"].Run
	for i := range 30 {
		h.Waiting, h.Runs = append(h.Waiting, another(refund(t), i)), append(h.Runs, run)
	}
	for i := range 9 {
		h.Reviews, h.Granting = append(h.Reviews, another(alone(t), i)), append(h.Granting, another(granting(t), i))
	}
	for lang, want := range map[string]string{"en": "and %s more; whoever runs me sees all of them with `countersign %s`", "zh": "另有 %s 项；运维人员可用 `countersign %s` 查看全部"} {
		for partial, plus := range map[bool]string{false: "", true: "+"} {
			h.Partial = partial
			v := r.Home(h, where(lang))
			if err := card.CheckHome(v); err != nil {
				t.Error(err)
			}
			shown := string(marshal(t, v.Blocks))
			for command, n := range map[string]string{"approvals list": "10", "approvals reviews": "3", "grants list": "3"} {
				if !strings.Contains(shown, fmt.Sprintf(want, n+plus, command)) {
					t.Errorf("%s: not said of %s", lang, command)
				}
			}
		}
	}
	links := make([]string, 20)
	if m := r.Pending("en", card.Home{Waiting: h.Waiting}, links); !strings.Contains(string(marshal(t, m.Blocks)), "and 10 more") {
		t.Error("the list of what waits does not say how much more there is")
	}
}
