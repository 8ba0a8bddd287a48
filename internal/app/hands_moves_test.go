package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"

	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// act lets somebody do something to some card, as people do: late, twice, wrongly.
func (h *hands) act(m slacktest.Message) {
	if strings.Contains(m.Shown(), "pair-") && h.random.IntN(20) > 0 {
		return // most wait for the press that decides both
	}
	who := h.people[h.random.IntN(len(h.people))]
	action := []string{"approval_approve", "approval_approve", "approval_approve", "approval_claim", "approval_reject", "approval_edit", "approval_respond", "run_stop", "glass_break"}[h.random.IntN(9)]
	if action == "glass_break" && h.random.IntN(4) > 0 {
		who = h.people[h.random.IntN(manyOnCall)]
	}
	twice, kind := h.random.IntN(3) == 0, []string{"one", "two"}[h.random.IntN(2)]
	h.fly(func() {
		h.press(who, m, action, kind)
		if twice {
			h.press(who, m, action, kind)
		}
	})
}

func (h *hands) fly(f func()) {
	select {
	case h.flying <- struct{}{}:
	default:
		return // enough hands are busy
	}
	h.all.Go(func() {
		defer func() { <-h.flying }()
		f()
	})
}

func (h *hands) press(who slacktest.Person, m slacktest.Message, action, kind string) {
	out, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: action})
	if err != nil || !out.Acked || !slices.Contains(forms, action) {
		return
	}
	h.submit(who, kind)
}

// forms are the actions that open a form.
var forms = []string{
	"approval_reject", "approval_edit", "approval_respond", "glass_break", "grant_open", "bundle_approve", "bundle_reject", "review_ok", "review_concern",
}

// submit fills the form that a press opened, when it comes.
func (h *hands) submit(who slacktest.Person, kind string) {
	server := h.Slack.Server
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		open := server.Workspace().Views(who.ID)
		if len(open) == 0 {
			continue
		}
		v := open[len(open)-1]
		typed := func(s string) map[string]json.RawMessage {
			raw, _ := json.Marshal(map[string]string{"type": "plain_text_input", "value": s}) // of two strings
			return map[string]json.RawMessage{"value": raw}
		}
		values := map[string]map[string]json.RawMessage{}
		switch v.CallbackID {
		case "approval_edit_modal":
			values["arg:what"] = typed(kind + "-" + strconv.Itoa(int(time.Now().UnixNano()%1e9)))
		case "approval_reject_modal", "approval_respond_modal", "bundle_reject_modal", "review_concern_modal":
			values["reason"] = typed("because")
		case "glass_modal":
			values["reason"], values["code"] = typed("nobody is awake"), typed(h.proof(who))
		case "grant_modal":
			values["count"] = typed("2")
		case "loading":
			continue
		}
		if v.CallbackID != "settled" {
			_, _ = server.Submit(context.Background(), localslack.Submission{User: who.ID, ViewID: v.ID, Values: values})
		}
		_, _ = server.CloseView(context.Background(), who.ID, v.ID, true) // it may be gone
		return
	}
}

// proof is a one-time code of a person; none when they used the one of now, because too
// many wrong ones would lock them.
func (h *hands) proof(who slacktest.Person) string {
	step := time.Now().Unix() / 30
	if last, ok := h.proofs.Swap(who.ID, step); ok && last == step {
		return ""
	}
	c, err := totp.GenerateCode(codeSecret, time.Now())
	if err != nil {
		h.t.Error(err)
	}
	return c
}

// mentioned is how a message names a manager.
var mentioned = regexp.MustCompile(`<@(U0M\d\d)>`)

// beside lets people press what stands beside the cards: several calls at once, standing
// grants, the look at what somebody approved alone.
func (h *hands) beside() {
	for _, pair := range [][2]string{{"bundle_approve", "bundle_reject"}, {"grant_open", "grant_open"}, {"grant_revoke", "grant_revoke"}, {"review_ok", "review_concern"}} {
		found := h.Slack.All(slacktest.Button(pair[0]))
		if len(found) == 0 || h.random.IntN(3) > 0 {
			continue
		}
		m, action := found[h.random.IntN(len(found))], pair[h.random.IntN(5)/4] // the first one mostly
		who := h.people[h.random.IntN(len(h.people))]
		if named := mentioned.FindAllStringSubmatch(m.Shown(), -1); action == "grant_revoke" && len(named) > 0 {
			if h.random.IntN(10) > 0 {
				continue // a grant is for being used
			}
			who = h.Slack.User(named[len(named)-1][1])
		}
		h.fly(func() { h.press(who, m, action, "one") })
	}
}

// oncall are the ids of those who may break the glass.
func oncall() []string {
	var ids []string
	for i := range manyOnCall {
		ids = append(ids, fmt.Sprintf("U0M%02d", i))
	}
	return ids
}
