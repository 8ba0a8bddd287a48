package localslack_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"countersign/localslack/slacktest"
)

// chromium is a running browser; each tab is somebody in front of the page.
type chromium struct{ ctx context.Context }

// newChromium starts the browser named by CHROMIUM or found in PATH. The test
// script always names one; without any the test is left out.
func newChromium(t *testing.T) chromium {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		found, err := exec.LookPath("chromium")
		if err != nil {
			t.Skip("no Chromium; the test script brings one")
		}
		path = found
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return chromium{ctx: ctx}
}

// tab is one person's open page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open shows a place of the page at a width in pixels, and fails the test for
// whatever the page's scripts throw.
func (c chromium) open(t *testing.T, ws *slacktest.Slack, place string, width int64) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(c.ctx)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	b := tab{t: t, ctx: ctx}
	b.do(chromedp.EmulateViewport(width, 800))
	thrown := chromedp.Events(ctx, runtime.ExceptionThrown)
	go func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			t.Errorf("%s: a script threw: %s", place, e.ExceptionDetails.Text)
		}
	}()
	b.do(chromedp.Navigate(ws.Server.BaseURL() + "/#/" + place))
	b.until(`document.body.dataset.ready`)
	return b
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for an expression to be true.
func (b tab) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[any](expression, chromedp.WithPollingTimeout(time.Minute))); err != nil {
		b.t.Fatalf("waited for %s: %v\n%s", expression, err, b.eval(`document.body.innerText`))
	}
}

func (b tab) eval(expression string) string {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return fmt.Sprint(got)
}

func (b tab) click(css string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(css), chromedp.NodeVisible))
}

// types types into whatever has the focus.
func (b tab) types(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// shows waits for a text within an element.
func (b tab) shows(css, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))`, css, text))
}

func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	browser := newChromium(t)
	t.Run("ask, card, form", func(t *testing.T) { askCardForm(t, browser) })
	t.Run("hostile texts", func(t *testing.T) { hostileTexts(t, browser) })
	t.Run("on a phone", func(t *testing.T) { onAPhone(t, browser) })
	t.Run("views of different people", func(t *testing.T) { differentPeople(t, browser) })
	t.Run("an input method at work", func(t *testing.T) { inputMethod(t, browser) })
}

func askCardForm(t *testing.T, browser chromium) {
	ws := slacktest.New(t, withPage)
	a := connected(t, ws)
	a.serve(approver(a))
	ana := browser.open(t, ws, "ana/ops", 1280)
	ana.click(`[data-testid=composer]`)
	ana.types("@cou" + kb.Enter + "delete doc_42" + kb.Enter)
	ana.until(`location.hash.split('/').length === 4`)
	a.postedCard = ws.Expect(slacktest.Button("approval_edit"))
	ana.shows(`[data-testid=thread-panel] [data-testid=message]`, "@countersign delete doc_42")
	ana.until(`document.querySelector('[data-testid=thread-panel] [data-action-id=approval_edit]')`)
	if left := ana.eval(`document.querySelector('[data-testid=composer]').value`); left != "" {
		t.Errorf("the composer still holds %q", left)
	}

	mgr := browser.open(t, ws, "mgr/ops/"+a.postedCard.Now().ThreadTS, 1280)
	mgr.click(`[data-testid=thread-panel] [data-action-id=approval_edit]`)
	mgr.until(`document.querySelector('[data-testid=modal][open]')?.dataset.callbackId === 'approval_edit_modal'`)
	mgr.click(`[data-testid=modal-submit]`)
	mgr.shows(`[data-block-id="arg:id"] [data-testid=field-error]`, "nothing changed")
	mgr.until(`document.activeElement.dataset.blockId === 'arg:id'`)
	mgr.eval(`document.activeElement.select()`)
	mgr.types("doc_43" + kb.Enter)
	mgr.until(`!document.querySelector('[data-testid=modal][open]')`)
	mgr.shows(`[data-testid=message]`, "Approved with doc_43")
	ana.shows(`[data-testid=message]`, "Approved with doc_43")
}

func hostileTexts(t *testing.T, browser chromium) {
	ws := slacktest.New(t, withPage)
	ws.Allow("broadcast", "no_text")
	a := newApp(t, ws)
	const bad = `<img src=x onerror=window.hacked=1> <script>window.hacked=1</script> <javascript:window.hacked=1|click> *<b>b</b>*`
	texts := []map[string]any{
		{"text": bad},
		{"text": "x", "blocks": []any{map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": bad}}}},
		{"text": "x", "blocks": []any{map[string]any{"type": "header", "text": map[string]any{"type": "plain_text", "text": bad}}}},
		{"text": "x", "blocks": []any{map[string]any{"type": "markdown", "text": bad + " [l](javascript:window.hacked=1) ![i](https://elsewhere.example/i.png)"}}},
		{"text": "x", "blocks": []any{map[string]any{"type": "image", "image_url": "https://elsewhere.example/i.png", "alt_text": bad}}},
	}
	for _, m := range texts {
		m["channel"], m["unfurl_links"], m["unfurl_media"] = "C0OPS", false, false
		a.call("chat.postMessage", m)
	}
	ana := browser.open(t, ws, "ana/ops", 1280)
	ana.until(fmt.Sprintf(`document.querySelectorAll('[data-testid=message]').length === %d`, len(texts)))
	shown := ana.eval(`[...document.querySelectorAll('.message-body')].map((e) => e.innerText).join('\n')`)
	if n := strings.Count(shown, "onerror=window.hacked=1"); n != len(texts) {
		t.Errorf("%d of %d texts are shown as they are:\n%s", n, len(texts), shown)
	}
	if got := ana.eval(`document.querySelectorAll('.message-body :is(img, script, b), .message-body a[href^="javascript"]').length`); got != "0" {
		t.Errorf("%s elements came out of texts", got)
	}
	ana.eval(`document.querySelectorAll('.message-body :is(a, .badlink)').forEach((e) => e.removeAttribute('href') || e.click())`)
	if got := ana.eval(`String(window.hacked)`); got != "undefined" {
		t.Error("a text ran as a script")
	}
}

func onAPhone(t *testing.T, browser chromium) {
	ws := slacktest.New(t, withPage)
	a := connected(t, ws)
	a.serve(approver(a))
	ask := ws.User("ana").Says("#ops", "@countersign "+strings.Repeat("a-very-long-word-", 20))
	a.postedCard = ws.Expect(slacktest.Button("approval_edit"))
	mgr := browser.open(t, ws, "mgr", 360)
	visible := func(css string) string {
		return fmt.Sprintf(`(document.querySelector(%q)?.getClientRects().length ?? 0) > 0`, css)
	}
	mgr.until(visible(`[data-testid=person-switch]`) + ` && !` + visible(`[data-testid=channel-pane]`))
	mgr.click(`[data-testid=channel][data-name=ops]`)
	mgr.until(visible(`[data-testid=channel-pane]`) + ` && !` + visible(`[data-testid=person-switch]`))
	mgr.click(`[data-testid=message][data-ts="` + ask.TS + `"] [data-testid=open-thread]`)
	mgr.until(visible(`[data-testid=thread-panel] [data-action-id=approval_edit]`) + ` && !` + visible(`[data-testid=channel-pane]`))
	if over := mgr.eval(`document.documentElement.scrollWidth > innerWidth`); over != "false" {
		t.Error("the page is wider than the phone")
	}
	mgr.click(`[data-testid=thread-back]`)
	mgr.until(visible(`[data-testid=channel-pane]`))
	mgr.click(`[data-testid=back]`)
	mgr.until(visible(`[data-testid=person-switch]`))
}

func differentPeople(t *testing.T, browser chromium) {
	ws := slacktest.New(t, withPage)
	a := newApp(t, ws)
	ana := browser.open(t, ws, "ana/ops", 1280)
	a.call("chat.postMessage", map[string]any{"channel": "C0OPS", "text": "<@U0MGR> has to look"})
	a.call("chat.postEphemeral", map[string]any{"channel": "C0OPS", "user": "U0MGR", "text": "for your eyes"})
	ana.until(`document.querySelector('[data-person-id=U0MGR] [data-testid=called]')`)
	if got := ana.eval(`document.body.innerText.includes('for your eyes')`); got != "false" {
		t.Error("ana sees what is for the manager")
	}
	ana.click(`[data-person-id=U0MGR]`)
	ana.shows(`[data-testid=message][data-ephemeral=true]`, "for your eyes")
	ana.until(`location.hash.startsWith('#/U0MGR/C0OPS') && !document.querySelector('[data-testid=called]')`)
}

// The Enter that ends a Chinese word is the input method's, not ours.
func inputMethod(t *testing.T, browser chromium) {
	ws := slacktest.New(t, withPage)
	ana := browser.open(t, ws, "ana/ops", 1280)
	ana.click(`[data-testid=composer]`)
	compose := func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, input.ImeSetComposition, input.ImeSetCompositionParams{Text: "ni hao"})
		return chromedp.Void{}, err
	}
	commit := func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: "你好"})
		return chromedp.Void{}, err
	}
	ana.do(compose)
	ana.eval(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))`)
	ana.do(commit)
	if n := len(ws.Server.Workspace().Messages("C0OPS", "")); n != 0 {
		t.Fatalf("the input method's Enter sent %d messages", n)
	}
	ana.types(kb.Enter)
	ana.shows(`[data-testid=message]`, "你好")
	if got := ws.Server.Workspace().Messages("C0OPS", "")[0].Text; got != "你好" {
		t.Errorf("what was sent is %q", got)
	}
}
