package docs

import (
	"regexp"
	"strings"
	"testing"
)

func TestPlainHTML(t *testing.T) {
	t.Parallel()
	spaces := regexp.MustCompile(" +")
	for page, want := range map[string][2]string{
		"<p>a &lt;b&gt;</p>":                             {" a <b> ", ""},
		"<title>A\nB</title>c":                           {" A\nB c", "A B"},
		"<script>\nvar x = '<p>no</p>';\n</script>\nyes": {" \n\n \nyes", ""},
		"<a\nhref='x'\n>link</a>":                        {" \n\nlink ", ""},
		"<!-- no\nno -->a&#10;b":                         {" \na b", ""},
		"<style>no</style><style>no</style>yes<p":        {" yes", ""},
		"a<script>no":                                    {"a ", ""},
	} {
		text, title := plainHTML(page)
		if got := spaces.ReplaceAllString(text, " "); got != want[0] || title != want[1] {
			t.Errorf("%q gives %q, title %q", page, text, title)
		}
	}
}

// Whatever the page is, the lines of the text are those of the source, and what
// is not shown in a browser is not in it.
func FuzzPlainHTML(f *testing.F) {
	for _, seed := range []string{"<p>a\nb</p>", "<title>\n&#10;", "<script>\n</style>\n", "<!--\n", "<a\n='", "</\n", "<![CDATA[\n]]>", "<textarea>\n<b>\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ReplaceAll(page, "\r", "")
		text, _ := plainHTML(page)
		if got, want := strings.Count(text, "\n"), strings.Count(page, "\n"); got != want {
			t.Fatalf("%q: %d line breaks, want %d in %q", page, got, want, text)
		}
	})
}
