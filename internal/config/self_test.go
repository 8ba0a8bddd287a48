package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/config"
)

// TestToolsCannotReachTheBotItself keeps the agent's hands off the rows and
// files from which its own approvals are read.
func TestToolsCannotReachTheBotItself(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("xoxb-1"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	database, secret, file := write("state/own.db"), write("keys/token"), filepath.Join(home, "conf", "countersign.yaml")
	write("conf/countersign.yaml")
	write("data/notes.txt")
	if err := os.Symlink(filepath.Join(home, "state"), filepath.Join(home, "data", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(database, filepath.Join(home, "data", "hard.db")); err != nil {
		t.Fatal(err)
	}
	base := "slack: {bot_token: 'file:" + secret + "'}\ndatabase: {url: 'sqlite:" + database + "'}\n"
	postgres := "database: {url: 'postgres://u:p@localhost/own'}\n"
	server := "http: {addr: '127.0.0.1:8080'}\n"
	tool := func(url string) string {
		return "tools: {http: [{name: a, description: d, url: '" + url + "'}]}"
	}
	cases := []struct{ name, text, want string }{
		{"apart", base + "tools: {files: {root: HOME/data}, docs: {path: HOME/docs}, sql: [{name: a, url: 'sqlite:HOME/data/shop.db'}]}", ""},
		{"root above the database", base + "tools: {files: {root: HOME}}", "tools.files.root: holds our own database"},
		{"root above the configuration", base + "tools: {files: {root: HOME/conf}}", "holds our own configuration"},
		{"root above a secret", base + "tools: {files: {root: HOME/keys}}", "holds a secret of ours"},
		{"root by a link", base + "tools: {files: {root: HOME/data/link}}", "holds our own database"},
		{"root by dots", base + "tools: {files: {root: HOME/data/../state}}", "holds our own database"},
		{"documents", base + "tools: {docs: {path: HOME/state}}", "tools.docs.path: holds our own database"},
		{"mount", base + "tools: {sandbox: {image: i, mounts: [{host: HOME/keys, at: /data}]}}", "tools.sandbox.mounts[0].host: holds a secret"},
		{"database by name", base + "tools: {sql: [{name: a, url: 'sqlite:HOME/state/own.db'}]}", "is our own database"},
		{"database with options", base + "tools: {sql: [{name: a, url: 'sqlite:HOME/state/own.db?mode=ro'}]}", "is our own database"},
		{"database by a link", base + "tools: {sql: [{name: a, url: 'sqlite:HOME/data/link/own.db'}]}", "is our own database"},
		{"database by a hard link", base + "tools: {sql: [{name: a, url: 'sqlite:HOME/data/hard.db'}]}", "is our own database"},
		{"postgres by another user", postgres + "tools: {sql: [{name: a, url: 'postgresql://x@127.0.0.1:5432/own?sslmode=disable'}]}", "is our own database"},
		{"postgres beside it", postgres + "tools: {sql: [{name: a, url: 'postgres://u:p@localhost/shop'}]}", ""},
		{"postgres elsewhere", postgres + "tools: {sql: [{name: a, url: 'postgres://u:p@db.example/own'}]}", ""},
		{"our listener", server + tool("http://localhost:8080/v1"), "tools.http[0].url: is our own listener"},
		{"our listener in IPv6", server + tool("http://[::1]:8080/v1"), "is our own listener"},
		{"our listener everywhere", "http: {addr: ':8080'}\n" + tool("http://127.0.0.2:8080/v1"), "is our own listener"},
		{"our listener on the standard port", "http: {addr: ':80'}\n" + tool("http://localhost/v1"), "is our own listener"},
		{"our listener by MCP", server + "tools: {mcp: [{name: a, url: 'http://127.0.0.1:8080/mcp'}]}", "tools.mcp[0].url: is our own listener"},
		{"another port", server + tool("http://localhost:8081/v1"), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(c.text, "HOME", home)
			_, err := config.Parse(file, []byte(text), environment(nil))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error = %v, want … %s …", err, c.want)
			}
		})
	}
}
