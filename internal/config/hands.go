package config

import (
	"encoding/json"
	"time"
)

// Tools says what the agent can do. What is left out does not exist for it.
type Tools struct {
	Files   *Files     `yaml:"files" doc:"read_file, list_files and calculate_stats."`
	Docs    *Docs      `yaml:"docs" doc:"search_docs and delete_document."`
	SQL     []SQL      `yaml:"sql" doc:"get_schema, query_sql and, where write is true, execute_sql."`
	HTTP    []HTTPTool `yaml:"http" doc:"Your own services, one tool for each call."`
	OpenAPI []OpenAPI  `yaml:"openapi" doc:"Operations of services that describe themselves, each a tool like those of http."`
	Metrics *Metrics   `yaml:"metrics" doc:"query_metrics."`
	Sandbox *Sandbox   `yaml:"sandbox" doc:"run_command, in a container."`
	MCP     []MCP      `yaml:"mcp" doc:"Servers of the Model Context Protocol; their tools are named NAME_TOOL."`
}

// Access is what every tool takes: who may ask for it, where, and how far it is trusted.
type Access struct {
	Roles    []string    `yaml:"roles" doc:"Roles that may ask for it; empty: every asker."`
	Channels []ChannelID `yaml:"channels" doc:"Ids of channels where it may be asked for; empty: everywhere."`
	Risk     string      `yaml:"risk" enum:"low,medium,high" doc:"Overrides the tool's own risk: low reads, medium is reversible, high is countersigned."`
	Private  bool        `yaml:"private" doc:"Whether its results are kept from the channel."`
	Egress   *bool       `yaml:"egress" doc:"Whether it sends data outside; unset: found out from the address."`
}

// Files is a folder that may be read.
type Files struct {
	Access `yaml:",inline"`
	Root   string `yaml:"root" need:"yes" doc:"The folder; nothing outside it can be read."`
}

// Docs is a folder of documents that can be searched, and deleted with approval.
type Docs struct {
	Access `yaml:",inline"`
	Path   string `yaml:"path" need:"yes" doc:"The folder of Markdown, text and HTML documents."`
}

// SQL is one database that may be queried.
type SQL struct {
	Access  `yaml:",inline"`
	Name    string  `yaml:"name" need:"yes" doc:"What the model calls the database."`
	URL     Secret  `yaml:"url" need:"yes" doc:"sqlite:FILE or postgres://…"`
	Write   bool    `yaml:"write" doc:"Whether execute_sql may change it, with approval."`
	MaxCost float64 `yaml:"max_cost" min:"0" doc:"Queries that the database expects to cost more are refused, in the units of Postgres' planner (on SQLite: a hundred rows looked at); 0: only limits.tool_timeout stops them."`
}

// HTTPTool is one call of a service, declared as a tool.
type HTTPTool struct {
	Access         `yaml:",inline"`
	Name           string            `yaml:"name" need:"yes" doc:"The tool's name for the model."`
	Description    string            `yaml:"description" need:"yes" doc:"What it does, for the model and the card."`
	Method         string            `yaml:"method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE" doc:"HTTP method; empty: GET."`
	URL            string            `yaml:"url" need:"yes" expand:"yes" doc:"Address; {argument} stands for one path segment or query value."`
	Headers        map[string]Secret `yaml:"headers" doc:"Headers sent with each call, to this origin only."`
	Idempotent     bool              `yaml:"idempotent" doc:"Whether the service honours the Idempotency-Key header that we send."`
	Window         time.Duration     `yaml:"idempotency_window" min:"1s" doc:"How long the service remembers the key; unset: for ever."`
	PrivateNetwork bool              `yaml:"private_network" doc:"Whether the address may be a private one."`
	Timeout        time.Duration     `yaml:"timeout" min:"1ms" doc:"Longest time of a call; unset: limits.tool_timeout."`
	MaxBytes       Bytes             `yaml:"max_bytes" min:"1" doc:"Largest answer that is read; unset: 1MiB."`
	Pages          *Pages            `yaml:"pages" doc:"How a GET's answer names its next part; unset: the answer is whole."`
	Preview        *Read             `yaml:"preview" doc:"A read whose answer the card shows beforehand."`
	Probe          *Read             `yaml:"probe" doc:"A read that tells whether a call of unknown outcome happened."`
	Parameters     json.RawMessage   `yaml:"parameters" doc:"JSON Schema of the arguments, an object."`
	Body           json.RawMessage   `yaml:"body" doc:"JSON in which a text {argument} stands for that argument, {idempotency_key} for the call's key; unset: an object of the arguments that the URL does not take."`
	ContentType    string            `yaml:"content_type" doc:"What the body is sent as: application/json (also when empty) or application/…+json."`
}

// Pages says how an answer names the address of its next part.
type Pages struct {
	Next  string `yaml:"next" need:"yes" doc:"link: the Link header with rel=next; else the member of the answer that holds the address, as a dotted path."`
	Limit int    `yaml:"limit" need:"yes" min:"2" doc:"Parts that are read at most, up to 50."`
}

// Read is a request without effects that goes with an HTTP tool.
type Read struct {
	Method string   `yaml:"method" enum:"GET,HEAD" doc:"GET (also when empty) or HEAD."`
	URL    string   `yaml:"url" need:"yes" expand:"yes" doc:"Address, filled with the same arguments."`
	Fields []string `yaml:"fields" doc:"Fields of the answer that matter."`
}

// OpenAPI is a service whose OpenAPI 3 document declares its operations.
type OpenAPI struct {
	File           string             `yaml:"file" need:"yes" doc:"The document, YAML or JSON."`
	URL            string             `yaml:"url" expand:"yes" doc:"Address that all paths follow; unset: that of the document's first server."`
	Headers        map[string]Secret  `yaml:"headers" doc:"Headers sent with each call, to this origin only."`
	PrivateNetwork bool               `yaml:"private_network" doc:"Whether the address may be a private one."`
	Operations     []OpenAPIOperation `yaml:"operations" need:"yes" doc:"The operations that become tools; no others do."`
}

// OpenAPIOperation is one operation that becomes a tool. What is left out comes from
// the document; the risk of a GET or HEAD is low, of all else high.
type OpenAPIOperation struct {
	Access      `yaml:",inline"`
	ID          string          `yaml:"id" need:"yes" doc:"The operationId."`
	Name        string          `yaml:"name" doc:"The tool's name for the model; unset: the id."`
	Description string          `yaml:"description" doc:"What it does; unset: summary and description of the document."`
	Idempotent  bool            `yaml:"idempotent" doc:"Whether the service honours the Idempotency-Key header that we send."`
	Window      time.Duration   `yaml:"idempotency_window" min:"1s" doc:"How long the service remembers the key; unset: for ever."`
	Timeout     time.Duration   `yaml:"timeout" min:"1ms" doc:"Longest time of a call; unset: limits.tool_timeout."`
	Preview     *OpenAPIPreview `yaml:"preview" doc:"An operation that reads, whose answer the card shows beforehand."`
}

// OpenAPIPreview is the operation that is read before somebody approves another.
type OpenAPIPreview struct {
	ID     string   `yaml:"id" need:"yes" doc:"The operationId of a GET or HEAD over arguments that the operation has, too."`
	Fields []string `yaml:"fields" doc:"Fields of the answer that matter."`
}

// Metrics is a Prometheus server that may be queried.
type Metrics struct {
	Access        `yaml:",inline"`
	PrometheusURL string `yaml:"prometheus_url" need:"yes" expand:"yes" doc:"Base address of the Prometheus server."`
}

// Sandbox is where run_command runs.
type Sandbox struct {
	Access `yaml:",inline"`
	Engine string            `yaml:"engine" enum:"docker" doc:"Container engine: docker (also Podman's service)."`
	Image  string            `yaml:"image" need:"yes" doc:"Image of the container."`
	Mounts []Mount           `yaml:"mounts" doc:"Folders of the host, mounted read-only."`
	Memory Bytes             `yaml:"memory" min:"4194304" doc:"Memory limit."`
	Pids   int               `yaml:"pids" min:"1" doc:"Process limit."`
	Env    map[string]Secret `yaml:"env" doc:"Environment of the commands, beside the image's own; nothing else is passed on."`
}

// Mount shows a folder of the host inside the container, read-only.
type Mount struct {
	Host string `yaml:"host" need:"yes" doc:"Folder of the host."`
	At   string `yaml:"at" need:"yes" doc:"Absolute path in the container."`
}

// MCP is a server of the Model Context Protocol, started by command or reached by url.
type MCP struct {
	Access    `yaml:",inline"`
	Name      string            `yaml:"name" need:"yes" doc:"Prefix of its tools' names."`
	Command   []string          `yaml:"command" doc:"Program and arguments of a server on standard input and output."`
	URL       string            `yaml:"url" expand:"yes" doc:"Address of a server over HTTP."`
	Headers   map[string]Secret `yaml:"headers" doc:"Headers for a server over HTTP."`
	Env       map[string]Secret `yaml:"env" doc:"The whole environment of the program; nothing else is passed on."`
	Trusted   bool              `yaml:"trusted" doc:"Whether its read-only hint may lower the risk."`
	Allow     []string          `yaml:"allow" doc:"Tools that are offered; empty: all."`
	MayChange []string          `yaml:"may_change" enum:"server,description,parameters,results,annotations" doc:"Parts of a tool's contract whose change is accepted at once (server: name and version); any other change holds the tool until an operator accepts it."`
}
