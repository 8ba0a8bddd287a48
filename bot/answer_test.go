package bot_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/blockkit"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// secret is a value that only the asker may read.
const secret = "4711-of-zhang"

// vault is a tool whose results are private.
func vault() *apptest.Counter {
	return &apptest.Counter{Name: "vault", Risk: tools.Low, Private: true, Do: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Text: "the balance is " + secret, Summary: "balance " + secret, Table: &tools.Table{Columns: []string{"a", "b"}, Rows: [][]string{{secret, "1"}, {"x", "2"}}}}, nil
	}}
}

// A run that read something private answers its asker alone. The channel, Home and the
// log see neither the value nor the model's words about it; notification texts neither.
func TestPrivateResultsReachTheAskerAlone(t *testing.T) {
	t.Parallel()
	var log safeBuffer
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.Start(t, apptest.Options{
		Extra: []tools.Tool{vault(), wipe}, Log: &log,
		Model: apptest.Play(
			apptest.Calls("vault", `{"what":"x"}`),
			apptest.Calls("wipe", `{"what":"x","thought":"because it is `+secret+`"}`),
			apptest.Says("You have "+secret+" left."),
		),
	})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ask := ana.Says("#ops", "@countersign how much is left?")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("sent the answer to"), slacktest.Text("wipe"))
	dm, err := w.Slack.Server.OpenDirect(t.Context(), ana.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Slack.Expect(w.Slack.In(dm.ID), slacktest.Text("You have "+secret), slacktest.MetaHas("subject", "/private"))
	mgr.OpensHome()
	ana.OpensHome()
	home := w.Slack.ExpectHome(ana, "how much is left?")
	if strings.Contains(strings.Join(blockkit.Texts(home.Blocks), "\n"), secret) {
		t.Error("Home shows the value")
	}
	for _, m := range w.Slack.All(w.Slack.In("#ops")) {
		if strings.Contains(m.Shown(), secret) {
			t.Errorf("the channel shows it:\n%s", m.Shown())
		}
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log holds it:\n%s", log.String())
	}
}

// A question that is asked after a private read goes to the asker alone, too; their reply in
// the thread answers it. Who takes no direct messages sees it in the thread, alone.
func TestPrivateQuestionsReachTheAskerAlone(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]bool{"directly": false, "without direct messages": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{vault()}, Model: apptest.Play(
				apptest.Calls("vault", `{"what":"x"}`), apptest.Calls("ask_user", `{"question":"Is it `+secret+`?"}`), apptest.Says("Good."),
			)})
			ana := w.Slack.User("ana")
			if refuses {
				w.Slack.Server.BreakAPI(localslack.APIFault{Method: "conversations.open", Error: "cannot_dm_bot"})
				w.Slack.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Skip: 1, Times: 1, RetryAfter: time.Second}) // the question is drawn twice
			}
			ask := ana.Says("#ops", "@countersign how much is left?")
			asked := w.Slack.Expect(slacktest.InThread(ask), slacktest.Public(), slacktest.MetaHas("subject", "/question"), slacktest.Text("sent it to you alone"))
			var alone slacktest.Message
			if refuses {
				alone = w.Slack.Expect(slacktest.InThread(ask), slacktest.OnlyFor(ana), slacktest.Text("Is it "+secret))
			} else {
				alone = w.Slack.Expect(slacktest.MetaHas("subject", "/private/2"), slacktest.Text("Is it "+secret), slacktest.Text("Please reply in"))
			}
			ana.Replies(ask, "yes")
			w.Slack.Expect(slacktest.InThread(ask), answer)
			w.Slack.ExpectUpdate(asked, slacktest.Text("was asked privately and has answered"))
			if !refuses {
				w.Slack.ExpectUpdate(alone, slacktest.Text("was asked and has answered"))
			}
			for _, m := range w.Slack.All(w.Slack.In("#ops"), slacktest.Public(), slacktest.Text(secret)) {
				t.Errorf("the channel shows it:\n%s", m.Shown())
			}
			if all := w.Slack.All(slacktest.Text("Is it " + secret)); len(all) != 1 {
				t.Errorf("it was asked %d times", len(all))
			}
		})
	}
}

// An asker who takes no direct messages sees the answer in the thread, alone.
func TestPrivateAnswerWithoutDirectMessages(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{vault()}, Model: apptest.Play(apptest.Calls("vault", `{"what":"x"}`), apptest.Says("It is "+secret))})
	ana := w.Slack.User("ana")
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "conversations.open", Error: "cannot_dm_bot"})
	ask := ana.Says("#ops", "@countersign how much is left?")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("It is "+secret))
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.NoText(secret))
}

// In a conversation with the bot alone nothing is hidden from the only reader.
func TestPrivateAnswerInADirectMessage(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{vault()}, Model: apptest.Play(apptest.Calls("vault", `{"what":"x"}`), apptest.Says("It is "+secret))})
	ana := w.Slack.User("ana")
	dm, err := w.Slack.Server.OpenDirect(t.Context(), ana.ID)
	if err != nil {
		t.Fatal(err)
	}
	ana.Posts(localslack.Post{Channel: dm.ID, Text: "how much is left?"})
	w.Slack.Expect(w.Slack.In(dm.ID), answer, slacktest.Text("It is "+secret))
}

// What was changed is said in the language of the request, also where one of our own tools
// says so: all of their sentences are in the catalogue.
func TestChangesAreSaidInTheAskersLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, said string }{
		"delete_document": {`{"id":"doc_42"}`, "删除了文档 doc_42（"},
		"execute_sql":     {`{"sql":"UPDATE customers SET balance = balance + 1 WHERE id = 1"}`, "更新了 shop.customers 中的 1 行"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Calls(name, c.args), apptest.Says("好了。"))})
			ask := w.Slack.User("ana").Says("#ops", "@countersign 请处理一下")
			card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
			w.Slack.User("mgr").Clicks(card, "approval_approve")
			if m := w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("好了。")); !strings.Contains(m.Shown(), c.said) {
				t.Errorf("no %q in\n%s", c.said, m.Shown())
			}
		})
	}
}

// A result that is a table stands below the answer as one; with rows cut the whole is
// attached for spreadsheets.
// Slack row 44.
func TestTableStandsBelowTheAnswer(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]int{"all": 5, "a part": 180} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := &apptest.Counter{Name: "list", Risk: tools.Low, Do: func(context.Context, tools.Call) (tools.Result, error) {
				table := &tools.Table{Columns: []string{"客户", "note"}}
				for i := range rows {
					table.Rows = append(table.Rows, []string{fmt.Sprintf("张三%d", i), "=1+2 <!channel> & 👩‍👩‍👧"})
				}
				return tools.Result{Text: "many rows", Table: table}, nil
			}}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{list}, Model: apptest.Play(apptest.Calls("list", `{"what":"x"}`), apptest.Says("Here they are."))})
			ask := w.Slack.User("ana").Says("#ops", "@countersign list them")
			m := w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("Here they are."), slacktest.Text("张三4"))
			if !strings.Contains(string(m.Now().Blocks), `"data_table"`) {
				t.Errorf("no table: %s", m.Now().Blocks)
			}
			if rows < 100 {
				return
			}
			var file localslack.Message
			w.Slack.Until("the file", func(s *localslack.Server) bool {
				for _, x := range s.Workspace().Messages("C0OPS", "") {
					if len(x.Files) > 0 && x.ThreadTS == ask.TS {
						file = x
					}
				}
				return len(file.Files) > 0
			})
			f, _ := w.Slack.Server.Workspace().File(file.Files[0])
			content := string(f.Content)
			if f.Name != "list-1.csv" || strings.Count(content, "\n") != rows+1 || !strings.Contains(content, "'=1+2") {
				t.Errorf("file %s with %d lines:\n%.200s", f.Name, strings.Count(content, "\n"), content)
			}
		})
	}
}

// A model that draws the table itself is not followed by a second one; and what a tool
// gives as a file is uploaded.
func TestFilesAndOwnTables(t *testing.T) {
	t.Parallel()
	chart := &apptest.Counter{Name: "chart", Risk: tools.Low, Do: func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{
			Text: "a chart", Files: []tools.File{{Name: "chart.png", MIME: "image/png", Bytes: []byte("\x89PNG\r\n\x1a\n\x00")}},
			Table: &tools.Table{Columns: []string{"a", "b"}, Rows: [][]string{{"1", "2"}, {"3", "4"}}},
		}, nil
	}}
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{chart}, Model: apptest.Play(apptest.Calls("chart", `{"what":"x"}`), apptest.Says("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"))})
	ask := w.Slack.User("ana").Says("#ops", "@countersign draw")
	m := w.Slack.Expect(slacktest.InThread(ask), answer)
	if strings.Contains(string(m.Now().Blocks), `"data_table"`) {
		t.Error("the table stands there twice")
	}
	w.Slack.Until("the chart", func(s *localslack.Server) bool {
		for _, x := range s.Workspace().Messages("C0OPS", "") {
			for _, id := range x.Files {
				if f, ok := s.Workspace().File(id); ok && f.Name == "chart.png" && x.ThreadTS == ask.TS {
					return true
				}
			}
		}
		return false
	})
}

// safeBuffer is a buffer that several goroutines write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
