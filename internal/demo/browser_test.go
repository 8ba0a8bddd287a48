package demo_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var update = flag.Bool("update", false, "take the pictures of the documents anew")

// TestScenesInABrowser plays through the demo's page what people play by hand, on
// a desktop and on a phone.
func TestScenesInABrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	for _, screen := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 800}, {"phone", 390, 844}} {
		t.Run(screen.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "demo")
			d := startDemo(t, dir)
			d.expectListening()
			p := openPage(browser, t, d.base, screen.width, screen.height)
			p.phone = screen.name == "phone"
			sceneEdit(p, dir)
			sceneReject(p, dir)
			sceneDelete(p, dir)
			sceneBalance(p)
		})
	}
}

func sceneBalance(p *page) {
	p.become("U0ANA")
	p.tries("1")
	p.threadShows("张三的余额是 42.5", "已变更", "send_topup_reminder")
}

func sceneDelete(p *page, dir string) {
	p.become("U0ANA")
	p.tries("3")
	p.sees("approval_approve")
	p.become("U0BEN")
	p.presses("approval_approve")
	p.threadShows("已删除", "已变更", "@ben")
	if _, err := os.Stat(filepath.Join(dir, "shop", "docs", "doc_42.md")); !os.IsNotExist(err) {
		p.t.Errorf("doc_42 is still there (%v)", err)
	}
}

func sceneEdit(p *page, dir string) {
	p.tries("4")
	p.sees("approval_edit")
	p.become("U0BEN")
	p.presses("approval_edit")
	p.fills("arg:id", "doc_43")
	p.fills("reason", "wrong number")
	p.submits()
	p.threadShows("changed the document from doc_42 to doc_43", "wrong number", "Changed:")
	if _, err := os.Stat(filepath.Join(dir, "shop", "docs", "doc_42.md")); err != nil {
		p.t.Errorf("doc_42 should have been left alone: %v", err)
	}
}

func sceneReject(p *page, dir string) {
	p.become("U0ANA")
	p.tries("5")
	p.sees("approval_reject")
	p.become("U0BEN")
	p.presses("approval_reject")
	p.fills("reason", "still needed")
	p.submits()
	p.threadShows("doc_41 was not deleted", "still needed", "Nothing was changed")
	if _, err := os.Stat(filepath.Join(dir, "shop", "docs", "doc_41.md")); err != nil {
		p.t.Errorf("doc_41 should have been left alone: %v", err)
	}
}

// startBrowser starts the Chromium that CHROMIUM names or PATH holds. Without one
// the test is left out, unless COUNTERSIGN_BROWSER says that there must be one.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		path, _ = exec.LookPath("chromium")
	}
	if path == "" {
		if os.Getenv("COUNTERSIGN_BROWSER") != "" {
			t.Fatal("COUNTERSIGN_BROWSER is set, but there is no Chromium: set CHROMIUM")
		}
		t.Skip("no Chromium; make test brings one")
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return ctx
}

// page is somebody in front of the demo's page.
type page struct {
	t     *testing.T
	ctx   context.Context
	phone bool
}

func openPage(browser context.Context, t *testing.T, base string, width, height int64) *page {
	t.Helper()
	return openPageAt(browser, t, base, "U0ANA/C0OPS", "U0ANA", width, height)
}

func openPageAt(browser context.Context, t *testing.T, base, place, person string, width, height int64) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 3*patience)
	t.Cleanup(stop)
	p := &page{t: t, ctx: ctx}
	p.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(base+"/?theme=light#/"+place))
	p.until(fmt.Sprintf(`document.body.dataset.ready === %q`, person))
	return p
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.eval(`document.body.innerText`))
	}
}

func (p *page) eval(expression string) string {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return fmt.Sprint(got)
}

// until waits for an expression to be true.
func (p *page) until(expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[any](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("waited for %s: %v\n%s", expression, err, p.eval(`document.body.innerText`))
	}
}

// there says in the page's language that one of the elements can be seen.
func there(css string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.getClientRects().length > 0)`, css)
}

// taps presses the first of the elements that can be seen.
func (p *page) taps(css string) {
	p.t.Helper()
	p.until(there(css))
	p.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.getClientRects().length > 0).click()`, css))
}

// become changes who sits there, and opens the same thread as them.
func (p *page) become(person string) {
	p.t.Helper()
	pick := fmt.Sprintf(`[data-person-id=%s]`, person)
	if !p.phone {
		p.taps(`[data-testid=person-switch] ` + pick)
		p.until(fmt.Sprintf(`document.body.dataset.ready === %q`, person))
		return
	}
	thread := p.eval(`location.hash.split('/')[3] ?? ''`)
	if thread != "" {
		p.taps(`[data-testid=thread-back]`)
	}
	p.taps(`[data-testid=person-menu]`)
	p.taps(`:not([data-testid=person-switch]) > ` + pick)
	p.until(fmt.Sprintf(`document.body.dataset.ready === %q`, person))
	if thread != "" {
		p.taps(fmt.Sprintf(`[data-testid=message][data-ts=%q] [data-testid=open-thread]`, thread))
	}
}

// tries takes a scene from the list, and sends it. Its thread opens.
func (p *page) tries(scene string) {
	p.t.Helper()
	if p.eval(there(`[data-testid=thread-panel]`)) == "true" {
		p.taps(`[data-testid=thread-back], [data-testid=thread-close]`)
	}
	use := fmt.Sprintf(`[data-scene="%s"] [data-testid=scene-use]`, scene)
	if p.eval(there(use)) != "true" {
		p.taps(`[data-testid=try-toggle]`)
	}
	p.taps(use)
	p.until(`document.querySelector('[data-testid=composer]').value.includes('@countersign')`)
	p.taps(`[data-testid=composer-send]`)
	p.until(`location.hash.split('/').length === 4`)
}

func inThread(action string) string {
	return fmt.Sprintf(`[data-testid=thread-panel] [data-action-id=%s]`, action)
}

// sees waits for a button in the thread.
func (p *page) sees(action string) {
	p.t.Helper()
	p.until(there(inThread(action)))
}

// presses clicks a button of the thread as a mouse does.
func (p *page) presses(action string) {
	p.t.Helper()
	p.sees(action)
	p.do(chromedp.Click(chromedp.CSS(inThread(action)), chromedp.NodeVisible))
}

// fills types into one input of the form.
func (p *page) fills(block, text string) {
	p.t.Helper()
	input := fmt.Sprintf(`[data-testid=modal][open] [data-block-id=%q] :is(input, textarea)`, block)
	p.until(there(input))
	p.eval(fmt.Sprintf(`{ const e = document.querySelector(%q); e.focus(); e.select(); }`, input))
	p.do(chromedp.KeyEvent(kb.Backspace + text))
}

func (p *page) submits() {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(`[data-testid=modal][open] [data-testid=modal-submit]`), chromedp.NodeVisible))
	p.until(`!document.querySelector('[data-testid=modal][open]')`)
}

// threadShows waits until one message of the thread has all of these texts.
func (p *page) threadShows(parts ...string) {
	p.t.Helper()
	wanted := "true"
	for _, part := range parts {
		wanted += fmt.Sprintf(` && e.innerText.includes(%q)`, part)
	}
	p.until(`[...document.querySelectorAll('[data-testid=thread-panel] [data-testid=message]')].some((e) => ` + wanted + `)`)
}
