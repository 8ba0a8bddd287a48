package app_test

import (
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// onBoth runs a scene on both databases.
func onBoth(t *testing.T, f func(t *testing.T, o apptest.Options)) {
	t.Helper()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			f(t, apptest.Options{Database: db})
		})
	}
}

// answer is the final answer of a run.
var answer = slacktest.MetaHas("subject", "/answer")

func TestSceneDeleteIsCountersigned(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		w := apptest.Start(t, o)
		ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
		ask := ana.Says("#ops", "@countersign 删除文档 doc_42")
		card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.Text("doc_42"))
		if w.File("docs/doc_42.md") == "" {
			t.Fatal("the document was deleted before anybody approved it")
		}
		mgr.Clicks(card, "approval_approve")
		w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("doc_42"))
		w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
		if w.File("docs/doc_42.md") != "" {
			t.Fatal("the document was not deleted")
		}
	})
}
