package config

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// toolName is what models accept as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// headerName is a token of HTTP (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// builtIn are the names that tools of the configuration cannot take.
var builtIn = map[string]bool{
	"read_file": true, "list_files": true, "calculate_stats": true,
	"search_docs": true, "delete_document": true,
	"get_schema": true, "query_sql": true, "execute_sql": true,
	"query_metrics": true, "run_command": true,
	"ask_user": true, "update_plan": true, "read_output": true,
}

func (k *checker) tools() {
	t := k.Tools
	if t.Files != nil {
		k.folder("tools.files.root", t.Files.Root)
		k.access("tools.files", t.Files.Access)
	}
	if t.Docs != nil {
		k.folder("tools.docs.path", t.Docs.Path)
		k.access("tools.docs", t.Docs.Access)
	}
	if t.Metrics != nil {
		k.web("tools.metrics.prometheus_url", t.Metrics.PrometheusURL)
		k.access("tools.metrics", t.Metrics.Access)
	}
	k.sql()
	k.httpTools()
	k.openAPI()
	k.sandbox()
	k.mcp()
}

func (k *checker) access(key string, a Access) { k.known(key+".roles", a.Roles) }

func (k *checker) folder(key, folder string) {
	if strings.TrimSpace(folder) == "" {
		k.fail(key, "is empty; name a folder")
	}
}

// name checks a name that the model uses and notes it as taken.
func (k *checker) name(key, name string, taken map[string]bool) {
	switch {
	case !toolName.MatchString(name):
		k.fail(key, "%q is no name: letters, digits, _ and -, at most 64", name)
	case builtIn[name]:
		k.fail(key, "%s is the name of a built-in tool", name)
	case taken[name]:
		k.fail(key, "the name %s is taken by another one above", name)
	}
	taken[name] = true
}

func (k *checker) sql() {
	taken := map[string]bool{}
	for i, db := range k.Tools.SQL {
		key := item("tools.sql", i)
		k.name(key+".name", db.Name, taken)
		k.access(key, db.Access)
		if why := databaseProblem(db.URL.Reveal()); why != "" {
			k.fail(key+".url", "%s", why)
		}
	}
}

func (k *checker) httpTools() {
	taken := map[string]bool{}
	for i, t := range k.Tools.HTTP {
		key := item("tools.http", i)
		k.name(key+".name", t.Name, taken)
		k.access(key, t.Access)
		k.web(key+".url", t.URL)
		k.parameters(key+".parameters", t.Parameters)
		for _, name := range sortedKeys(t.Headers) {
			k.header(key+".headers."+name, name, t.Headers[name])
		}
		if t.Preview != nil {
			k.web(key+".preview.url", t.Preview.URL)
		}
		if t.Probe != nil {
			k.web(key+".probe.url", t.Probe.URL)
		}
		if t.Window > 0 && !t.Idempotent {
			k.fail(key+".idempotency_window", "means nothing without idempotent: true")
		}
	}
}

func (k *checker) openAPI() {
	taken := map[string]bool{}
	for _, t := range k.Tools.HTTP {
		taken[t.Name] = true
	}
	for i, o := range k.Tools.OpenAPI {
		key := item("tools.openapi", i)
		k.web(key+".url", o.URL)
		for _, name := range sortedKeys(o.Headers) {
			k.header(key+".headers."+name, name, o.Headers[name])
		}
		for j, op := range o.Operations {
			at, name := item(key+".operations", j), op.Name
			if name == "" {
				name = op.ID
			}
			k.name(at+".name", name, taken)
			k.access(at, op.Access)
			if op.Window > 0 && !op.Idempotent {
				k.fail(at+".idempotency_window", "means nothing without idempotent: true")
			}
		}
	}
}

func (k *checker) header(key, name string, value Secret) {
	if !headerName.MatchString(name) {
		k.fail(key, "is no name of a header")
	}
	if strings.ContainsAny(value.Reveal(), "\r\n\x00") {
		k.fail(key, "a header's value is one line")
	}
}

// parameters checks the outline of a JSON Schema; the tool checks the rest.
func (k *checker) parameters(key string, raw json.RawMessage) {
	var outline struct {
		Type any `json:"type"`
	}
	if len(raw) == 0 {
		return
	}
	if err := json.Unmarshal(raw, &outline); err != nil || outline.Type != "object" {
		k.fail(key, "must be a JSON Schema with type: object")
	}
}

func (k *checker) sandbox() {
	s := k.Tools.Sandbox
	if s == nil {
		return
	}
	k.access("tools.sandbox", s.Access)
	for i, m := range s.Mounts {
		if !path.IsAbs(m.At) {
			k.fail(item("tools.sandbox.mounts", i)+".at", "must be an absolute path, like /data")
		}
	}
}

func (k *checker) mcp() {
	taken := map[string]bool{}
	for i, m := range k.Tools.MCP {
		key := item("tools.mcp", i)
		k.name(key+".name", m.Name, taken)
		k.access(key, m.Access)
		k.web(key+".url", m.URL)
		switch {
		case len(m.Command) == 0 && m.URL == "":
			k.fail(key, "needs command or url")
		case len(m.Command) > 0 && m.URL != "":
			k.fail(key, "has command and url; a server is one or the other")
		case len(m.Command) > 0 && len(m.Headers) > 0:
			k.fail(key+".headers", "are for servers with a url")
		case m.URL != "" && len(m.Env) > 0:
			k.fail(key+".env", "is for servers with a command")
		}
		for n, other := range k.Tools.MCP {
			if n != i && strings.HasPrefix(other.Name, m.Name+"_") {
				k.fail(key+".name", "begins the name of the server %s: tools are named SERVER_TOOL, so one server could take the name of the other's tool; rename one", other.Name)
			}
		}
	}
}
