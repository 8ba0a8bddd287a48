package bot_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// guarded is a counter whose guard knows which things there are.
type guarded struct{ *apptest.Counter }

func (guarded) Check(_ context.Context, args json.RawMessage) error {
	if strings.Contains(string(args), "nowhere") {
		return &tools.Failure{Code: "not_found", Message: "there is no nowhere", Pointer: "/what"}
	}
	return nil
}

// What the tool itself finds wrong with an edited argument stands at its field, in the
// reader's words, and the form stays: from its guard, and from its preview.
func TestToolsOpinionStandsAtTheField(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]string{"en-US": "Not found: ", "zh-CN": "未找到："} {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			wipe := guarded{&apptest.Counter{Name: "wipe", Risk: tools.High, Show: func(_ context.Context, c tools.Call) (tools.Preview, error) {
				if strings.Contains(string(c.Args), "unseen") {
					return tools.Preview{}, &tools.Failure{Code: "not_found", Message: "there is nothing unseen", Pointer: "/what"}
				}
				return tools.Preview{Summary: "it counts"}, nil
			}}}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
			mgr := w.Slack.User("mgr")
			if err := w.Slack.Server.PutPerson(localslack.Person{ID: mgr.ID, Name: "mgr", RealName: "Manager", Locale: locale}); err != nil {
				t.Fatal(err)
			}
			w.Slack.User("ana").Says("#ops", "@countersign wipe x")
			mgr.Clicks(w.Slack.Expect(slacktest.Button("approval_edit")), "approval_edit")
			form := w.Slack.ExpectModal(mgr, "what")
			for bad, why := range map[string]string{"nowhere": "there is no nowhere", "unseen": "there is nothing unseen"} {
				got := form.Fill("arg:what", bad).Submit().Errors["arg:what"]
				if !strings.Contains(got, want+why) || strings.Contains(got, "/what") {
					t.Errorf("%s: the field says %q", bad, got)
				}
			}
			form.Fill("arg:what", "y").MustSubmit()
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if all := wipe.All(); len(all) != 1 || string(all[0].Args) != `{"what":"y"}` {
				t.Errorf("ran %v", all)
			}
		})
	}
}
