package docs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// maxTitle is how long a title is shown, in characters.
const maxTitle = 80

// document is one file, as it is searched.
type document struct {
	id    string // file name without extension, or the path where that is not unique
	path  string // relative to the folder
	title string
	lines []string // plain text, line by line as in the file
	size  int
	sum   string // SHA-256 of the content, hex

	heading string   // title and path, folded for searching
	body    string   // all lines, folded
	folded  []string // each line, folded
}

// extensions are the kinds of documents that are read.
var extensions = map[string]bool{".md": true, ".markdown": true, ".txt": true, ".html": true, ".htm": true}

// newDocument reads the content of a file.
func newDocument(name string, content []byte) *document {
	sum := sha256.Sum256(content)
	d := &document{path: name, size: len(content), sum: hex.EncodeToString(sum[:])}
	text := strings.ToValidUTF8(string(bytes.TrimPrefix(content, []byte("\ufeff"))), "\ufffd")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if ext := strings.ToLower(path.Ext(name)); ext == ".html" || ext == ".htm" {
		text, d.title = plainHTML(text)
	}
	d.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if d.title == "" {
		d.title = titleOf(d.lines)
	}
	d.title = cut(d.title, maxTitle)
	d.heading, d.body = fold(d.title+"\n"+name), fold(strings.Join(d.lines, "\n"))
	d.folded = strings.Split(d.body, "\n")
	return d
}

// titleOf is the first heading, else the first line that says something.
func titleOf(lines []string) string {
	first := ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			if heading := strings.TrimSpace(strings.TrimLeft(line, "#")); heading != "" {
				return heading
			}
		}
		if first == "" && strings.Trim(line, "-=*_ ") != "" {
			first = line
		}
	}
	return first
}

// plainHTML takes the text and the title out of a page. Line breaks stay where
// they are in the source, so that line numbers are true.
func plainHTML(page string) (text, title string) {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	within := "" // the element whose text is treated apart
	for {
		kind := z.Next()
		raw := string(z.Raw()) // Token may overwrite it
		name := z.Token().Data
		switch {
		case kind == html.ErrorToken:
			b.WriteString(strings.Repeat("\n", strings.Count(raw, "\n")))
			return b.String(), strings.TrimSpace(title)
		case kind == html.StartTagToken && (name == "script" || name == "style" || name == "title"):
			within = name
		case kind == html.EndTagToken && name == within:
			within = ""
		case kind == html.TextToken && (within == "" || within == "title"):
			words := unescapeLines(raw)
			if within == "title" {
				title += strings.ReplaceAll(words, "\n", " ")
			}
			b.WriteString(words)
			continue
		}
		b.WriteString(" " + strings.Repeat("\n", strings.Count(raw, "\n")))
	}
}

// unescapeLines reads the character references of a text; those of a line
// break are no line of the source.
func unescapeLines(raw string) string {
	lines := strings.Split(raw, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(html.UnescapeString(line))
	}
	return strings.Join(lines, "\n")
}

// head is the first lines that say something, for a card.
func (d *document) head(n int) string {
	var lines []string
	for _, line := range d.lines {
		if strings.TrimSpace(line) != "" && len(lines) < n {
			lines = append(lines, cut(line, 200))
		}
	}
	return strings.Join(lines, "\n")
}

// cut shortens a text to n characters and marks the cut.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}
