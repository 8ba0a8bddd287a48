package demo_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// shot is one picture of the gallery: what is asked, what is waited for, who looks.
type shot struct {
	name  string
	think string            // how long the model takes; empty: not at all
	asks  map[string]string // by language
	then  func(d *demo, lang string)
	shows map[string]string // a text in the thread, by language, when it may be taken
	at    string            // what is brought into view
	home  bool              // the Home tab instead of the thread
}

// viewer is who looks, by language.
var viewer = map[string]string{"en": "U0BEN", "zh": "U0CHEN"}

func gallery() []shot {
	both := func(en, zh string) map[string]string { return map[string]string{"en": en, "zh": zh} }
	remove := both("@countersign delete document doc_42", "@countersign 删除文档 doc_42")
	update := both("@countersign set order 7 to shipped", "@countersign 把订单 7 的状态改成 shipped")
	return []shot{
		{name: "progress", think: "2s", asks: both("@countersign check the balance of 张三 and send a reminder if it is below 100", "@countersign 查张三的余额，不到 100 就发充值提醒"),
			shows: both("1 row", "1 行"), at: "[data-testid=message]:last-of-type"},
		{name: "card", asks: update, shows: both("status=shipped", "status=shipped"), at: "[data-action-id=approval_approve]"},
		{name: "edited", asks: remove, then: (*demo).editsToAnother, shows: both("changed the document from doc_42 to doc_43", "doc_43"), at: "[data-testid=message]:last-of-type"},
		{name: "table", asks: both("@countersign orders per week", "@countersign 按周统计订单数和金额"), shows: both("Nothing was changed", "未做任何变更"), at: "[data-testid=message]:last-of-type"},
		{name: "home", asks: update, then: func(d *demo, lang string) {
			d.says("U0ANA", remove[lang])
			d.expect("U0ANA", "approval_approve", "doc_42")
		},
			shows: both("status=shipped", "status=shipped"), home: true},
	}
}

// editsToAnother has the viewer's colleague change the document and so approve it.
func (d *demo) editsToAnother(lang string) {
	card := d.expect("U0BEN", "approval_edit", "doc_42")
	p := d.looks("U0BEN", 1280, 800, "U0BEN/C0OPS/"+d.root())
	p.sees("approval_edit")
	p.presses("approval_edit")
	p.fills("arg:id", "doc_43")
	p.fills("reason", map[string]string{"en": "wrong number", "zh": "编号写错了"}[lang])
	p.submits()
	d.wait("an executed card "+card.TS, func() bool {
		for _, m := range d.messages("U0BEN") {
			if m.TS == card.TS && m.has("deleted document doc_43") {
				return true
			}
		}
		return false
	})
}

// root is the first message of the newest request.
func (d *demo) root() string {
	for _, m := range slices.Backward(d.messages("U0ANA")) {
		if m.User == "U0ANA" {
			return m.TS
		}
	}
	d.t.Fatal("nobody asked")
	return ""
}

// looks opens the page somewhere.
func (d *demo) looks(person string, width, height int64, place string) *page {
	d.t.Helper()
	return openPageAt(d.browser, d.t, d.base, place, person, width, height)
}

// TestGallery takes the pictures of docs/gallery.md, with -update; without it, it plays
// what they show, on one screen.
func TestGallery(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	screens := map[string][2]int64{"desktop": {1180, 760}}
	if *update {
		screens["phone"] = [2]int64{390, 760}
	}
	for _, s := range gallery() {
		for lang := range viewer {
			if lang == "zh" && !*update {
				continue
			}
			t.Run(s.name+"/"+lang, func(t *testing.T) {
				for screen, size := range screens {
					s.take(browser, t, lang, size, s.name+"-"+lang+"-"+screen+".png")
				}
			})
		}
	}
}

// take plays the story and takes the picture.
func (s shot) take(browser context.Context, t *testing.T, lang string, size [2]int64, file string) {
	t.Helper()
	think := s.think
	if think == "" {
		think = "0"
	}
	d := startThinking(t, filepath.Join(t.TempDir(), "demo"), think)
	d.browser = browser
	defer d.kill()
	d.expectListening()
	d.says("U0ANA", s.asks[lang])
	if s.then != nil {
		s.then(d, lang)
	}
	d.expect("U0ANA", s.shows[lang])
	place := viewer[lang] + "/C0OPS/" + d.root()
	if s.home {
		place = viewer[lang] + "/home"
	}
	p := d.looks(viewer[lang], size[0], size[1], place)
	if s.home {
		p.until(`document.querySelector('[data-testid=home]')?.innerText.includes('delete_document')`)
	} else {
		p.until(fmt.Sprintf(`document.querySelector('[data-testid=thread-panel]')?.innerText.includes(%q)`, s.shows[lang]))
		p.eval(fmt.Sprintf(`[...document.querySelectorAll('[data-testid=thread-panel] %s')].at(-1).scrollIntoView({block: 'end'})`, s.at))
	}
	if !*update {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "images", file), small(t, picture), 0o644); err != nil {
		t.Fatal(err)
	}
}

// small encodes a picture as well as it can be: the browser does it in a hurry.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	coarse := image.NewRGBA(decoded.Bounds())
	draw.Draw(coarse, coarse.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	for i := range coarse.Pix {
		coarse.Pix[i] |= 7 // nobody sees it, and half of the bytes go
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, coarse); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
