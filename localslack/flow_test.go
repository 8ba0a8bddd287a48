package localslack_test

import (
	"context"
	"testing"

	"countersign/localslack/slacktest"
	"countersign/localslack/tinyapp"
)

const card = `[
 {"type":"section","text":{"type":"mrkdwn","text":"Delete doc_42?"}},
 {"type":"actions","elements":[
  {"type":"button","action_id":"approval_approve","style":"primary","text":{"type":"plain_text","text":"Approve"},"value":"ap_1"},
  {"type":"button","action_id":"approval_edit","text":{"type":"plain_text","text":"Edit"},"value":"ap_1"}]}]`

func editModal() map[string]any {
	plain := func(s string) map[string]any { return map[string]any{"type": "plain_text", "text": s} }
	return map[string]any{
		"type": "modal", "callback_id": "approval_edit_modal", "private_metadata": "ap_1", "title": plain("Edit"), "submit": plain("Approve"),
		"blocks": []any{
			map[string]any{"type": "input", "block_id": "arg:id", "label": plain("id"), "element": map[string]any{
				"type": "plain_text_input", "action_id": "value", "initial_value": "doc_42"}},
			map[string]any{"type": "input", "block_id": "reason", "label": plain("Reason"), "optional": true, "element": map[string]any{
				"type": "plain_text_input", "action_id": "value", "max_length": 20}},
		},
	}
}

// approver is an app with one card: it posts it on a mention, opens a form on
// Edit, and settles the card on submission.
func approver(a *app) tinyapp.Handler {
	return func(ctx context.Context, e tinyapp.Envelope) (any, error) {
		switch e.Inner() {
		case "app_mention":
			_, err := a.Call(ctx, "chat.postMessage", map[string]any{
				"channel": tinyapp.Str(e.Event(), "channel"), "thread_ts": tinyapp.Str(e.Event(), "ts"), "text": "Delete doc_42?", "blocks": card,
			})
			return nil, err
		case "block_actions":
			_, err := a.Call(ctx, "views.open", map[string]any{"trigger_id": e.Body()["trigger_id"], "view": editModal()})
			return nil, err
		case "view_submission":
			return a.submitted(ctx, e)
		}
		return nil, nil
	}
}

func (a *app) submitted(ctx context.Context, e tinyapp.Envelope) (any, error) {
	id := tinyapp.Str(e.Body(), "view", "state", "values", "arg:id", "value", "value")
	if id == "doc_42" {
		return map[string]any{"response_action": "errors", "errors": map[string]any{"arg:id": "nothing changed"}}, nil
	}
	msgs := a.postedCard
	_, err := a.Call(ctx, "chat.update", map[string]any{
		"channel": msgs.Channel, "ts": msgs.TS, "text": "Approved with " + id, "blocks": []any{},
	})
	return nil, err
}

func TestMentionCardFormUpdate(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	a := connected(t, ws)
	a.serve(approver(a))
	ana, mgr := ws.User("ana"), ws.User("mgr")

	ask := ana.Says("#ops", "@countersign delete doc_42")
	c := ws.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.Text("Delete doc_42?"))
	a.postedCard = c
	if got := c.Value("approval_approve"); got != "ap_1" {
		t.Errorf("value %q, want ap_1", got)
	}

	mgr.Clicks(c, "approval_edit")
	form := ws.ExpectModal(mgr, "Edit", "Reason")
	if got := form.Initial("arg:id"); got != "doc_42" {
		t.Errorf("the form holds %q, want doc_42", got)
	}
	if out := form.Submit(); out.Errors["arg:id"] != "nothing changed" {
		t.Errorf("an unchanged form gave %+v", out)
	}
	if out := form.Fill("arg:id", "").Submit(); out.Acked || out.Errors["arg:id"] == "" {
		t.Errorf("an empty required input gave %+v", out)
	}
	if out := form.Fill("arg:id", "doc_43").Fill("reason", "far too long a reason to be taken").Submit(); out.Errors["reason"] == "" {
		t.Errorf("a reason above max_length gave %+v", out)
	}
	form.Fill("reason", "typo").MustSubmit()
	ws.ExpectUpdate(c, slacktest.Text("Approved with doc_43"), slacktest.NoButton(""))
	ws.ExpectNoModal(mgr)
	ws.ExpectAcked()
	ws.NoStray()
}
