// Package config reads countersign.yaml: every setting as a Go field with its
// default in code, strict keys, values of secrets from the environment or from
// files, and messages that name the line. What it accepts, this version does: a
// setting whose feature does not exist is refused, never ignored.
//
// Paths in the file (`file:PATH`, roots, databases) are relative to the working
// directory of the process.
//
// The struct tags are the specification: `yaml` is the key, `enum` the words
// allowed, `min` the smallest number or duration, `need` a key that must be
// there, `expand` a plain string in which ${VAR} is filled, `doc` the sentence
// that editors show. Decoder and JSON Schema are both driven by them.
package config

import "time"

// DefaultFile is the file that is read when none is named and it exists.
const DefaultFile = "countersign.yaml"

// Config is the whole configuration. A value comes from the environment, else
// from the file, else from Default.
type Config struct {
	Slack     Slack           `yaml:"slack" doc:"The workspace: tokens, where the bot listens, how it speaks."`
	Model     Model           `yaml:"model" doc:"The language model, any OpenAI-compatible endpoint."`
	Database  Database        `yaml:"database" doc:"Where runs, approvals and the audit are kept."`
	HTTP      HTTP            `yaml:"http" doc:"Our own listener: health and metrics."`
	Limits    Limits          `yaml:"limits" doc:"What one run may use before it is handed to a person."`
	Roles     map[string]Role `yaml:"roles" doc:"Groups of people by Slack ids; names are refused."`
	Approvals Approvals       `yaml:"approvals" doc:"Who countersigns, and for how long a request stands."`
	Redact    []string        `yaml:"redact" doc:"Regular expressions masked in cards, threads and logs, beside the built-in ones."`
	Rules     []Rule          `yaml:"rules" doc:"Exceptions by tool and arguments; the first match wins."`
	Tools     Tools           `yaml:"tools" doc:"What the agent can do."`
	Schedules []Schedule      `yaml:"schedules" doc:"Runs that start by the clock."`
	API       API             `yaml:"api" doc:"Runs and decisions of programs over our own listener."`
	Hooks     Hooks           `yaml:"hooks" doc:"What may start runs from outside."`
	Retention Retention       `yaml:"retention" doc:"How long what has ended is kept; unset: for ever."`

	source   source
	warnings Problems
}

// Slack says which workspace the bot serves and how it behaves there.
type Slack struct {
	AppToken Secret `yaml:"app_token" doc:"App-level token (xapp-…) with connections:write. SLACK_APP_TOKEN wins."`
	BotToken Secret `yaml:"bot_token" doc:"Bot token (xoxb-…). SLACK_BOT_TOKEN wins."`
	APIURL   string `yaml:"api_url" expand:"yes" doc:"Web API of another cloud (GovSlack) or a test server; empty: Slack's. SLACK_API_URL wins."`

	Channels         []ChannelID `yaml:"channels" doc:"Ids of the channels where the bot answers; empty: wherever it is invited."`
	Askers           string      `yaml:"askers" enum:"members" doc:"Who may start runs: members of this workspace; guests, other workspaces and bots start nothing."`
	ApprovalsChannel ChannelID   `yaml:"approvals_channel" doc:"Id of a channel that gets every card too; empty: cards stay in their threads."`
	ThreadReplies    string      `yaml:"thread_replies" enum:"mention,all" doc:"Whether replies without a mention reach the run: mention (no) or all (yes)."`
	Language         string      `yaml:"language" enum:"auto,en,zh" doc:"Language of channel messages; auto: the asker's. Private texts follow their reader."`
}

// Model says which language model answers and what it costs.
type Model struct {
	Name         string        `yaml:"name" doc:"Name of the model. OPENAI_MODEL wins."`
	BaseURL      string        `yaml:"base_url" expand:"yes" doc:"Base address of the endpoint; empty: OpenAI's. OPENAI_BASE_URL wins."`
	Key          Secret        `yaml:"api_key" doc:"API key; local servers need none. OPENAI_API_KEY wins."`
	API          string        `yaml:"api" enum:"chat,responses" doc:"Which of the two APIs the endpoint speaks."`
	Small        string        `yaml:"small" doc:"Model that summarises long outputs, and the oldest turns of a run whose requests fill the window; empty: outputs are shown in part, older results shortened."`
	Window       int           `yaml:"window" min:"0" doc:"Context length of the model and of small, as their server runs them; longer requests are shortened before they are sent (from three quarters of it on by a summary, where small is named). 0: not known. Set it for servers that cut long requests without an error, as Ollama does. Unit: tokens."`
	Stream       bool          `yaml:"stream" doc:"Ask for replies in pieces, for proxies that cut connections on which nothing comes for a while."`
	Strict       bool          `yaml:"strict" doc:"Ask for arguments that keep to the tools' schemas (OpenAI's strict mode), which keeps smaller models from inventing some; left out where the server refuses it."`
	Timeout      time.Duration `yaml:"timeout" min:"1s" doc:"Longest wait for one reply."`
	Price        Price         `yaml:"price" doc:"What a million tokens cost, for cost limits and reports."`
	Instructions string        `yaml:"instructions" doc:"A file with the house rules that every prompt carries."`
}

// Price is what the model costs per million tokens; zeros mean unknown.
type Price struct {
	InputPerMillion  float64 `yaml:"input_per_million" min:"0" doc:"Price of a million prompt tokens."`
	OutputPerMillion float64 `yaml:"output_per_million" min:"0" doc:"Price of a million completion tokens."`
	Currency         string  `yaml:"currency" doc:"Currency of the prices, a three-letter code."`
}

// Database says where the state is kept.
type Database struct {
	URL Secret `yaml:"url" doc:"sqlite:FILE or postgres://…; DATABASE_URL wins."`
}

// HTTP says where our own listener stands.
type HTTP struct {
	Addr string `yaml:"addr" expand:"yes" doc:"host:port of the listener; empty: none. COUNTERSIGN_HTTP_ADDR wins."`
}

// Limits bound one run. Reaching one asks a person; it never ends silently.
type Limits struct {
	MaxSteps        int           `yaml:"max_steps" min:"1" doc:"Tool calls of a run."`
	MaxTokens       int           `yaml:"max_tokens" min:"1" doc:"Prompt and completion tokens of a run, retries and summaries included."`
	MaxActiveTime   time.Duration `yaml:"max_active_time" min:"1s" doc:"Working time of a run; waiting for people does not count."`
	MaxCost         float64       `yaml:"max_cost" min:"0" doc:"Money of a run in model.price.currency; 0: no limit."`
	SelfHeal        int           `yaml:"self_heal" min:"0" doc:"Failed steps in a row that are reflected upon before a person is asked."`
	LoopWindow      int           `yaml:"loop_window" min:"2" doc:"Steps within which equal calls with equal outcomes count as a loop."`
	InputTTL        time.Duration `yaml:"input_ttl" min:"1s" doc:"How long a question to the asker stands."`
	OpenApprovals   OpenApprovals `yaml:"open_approvals" doc:"How many cards may wait at once."`
	PerDay          PerDay        `yaml:"per_day" doc:"What the runs of 24 hours may use together; looked at before every call of the model."`
	ToolTimeout     time.Duration `yaml:"tool_timeout" min:"1ms" doc:"Longest time of one tool call, unless the tool says otherwise."`
	ToolOutputChars int           `yaml:"tool_output_chars" min:"100" doc:"Longer outputs are kept whole and condensed for the model. Unit: characters."`
}

// PerDay bounds what the runs that began within 24 hours use together.
type PerDay struct {
	User    Allowance `yaml:"user" doc:"The runs of one person, or that one person answers for."`
	Channel Allowance `yaml:"channel" doc:"The runs of one channel."`
	All     Allowance `yaml:"all" doc:"All runs."`
}

// Allowance is an amount of the model's work.
type Allowance struct {
	Tokens int     `yaml:"tokens" min:"0" doc:"Prompt and completion tokens; 0: no limit."`
	Cost   float64 `yaml:"cost" min:"0" doc:"Money in model.price.currency; 0: no limit."`
}

// OpenApprovals bounds how many approvals may be pending at once.
type OpenApprovals struct {
	PerRun   int `yaml:"per_run" min:"1" doc:"Pending approvals of one run."`
	PerAsker int `yaml:"per_asker" min:"1" doc:"Pending approvals of one asker over all runs."`
}

// API is the HTTP interface for programs.
type API struct {
	Channel ChannelID `yaml:"channel" doc:"Id of the channel of runs that programs start; empty: they start none."`
}

// Hooks are what may start runs from outside.
type Hooks struct {
	Alertmanager *Hook `yaml:"alertmanager" doc:"Alertmanager's webhook, at /v1/hooks/alertmanager."`
}

// Hook starts runs when something calls it.
type Hook struct {
	Token   Secret    `yaml:"token" need:"yes" doc:"Bearer token that the caller sends."`
	Channel ChannelID `yaml:"channel" need:"yes" doc:"Id of the channel that gets the answer."`
	Text    string    `yaml:"text" need:"yes" doc:"What is asked; what the caller sends comes with it as data."`
	Owner   UserID    `yaml:"owner" need:"yes" doc:"Id of the person who counts as requester."`
	Roles   []string  `yaml:"roles" doc:"Roles of the hook as asker; empty: LOW tools alone."`
}

// Schedule is a run that starts by the clock.
type Schedule struct {
	Name    string    `yaml:"name" need:"yes" doc:"Unique name, used in the audit."`
	Cron    string    `yaml:"cron" need:"yes" doc:"When: five cron fields, or @hourly, @daily …"`
	Channel ChannelID `yaml:"channel" need:"yes" doc:"Id of the channel that gets the answer."`
	Text    string    `yaml:"text" need:"yes" doc:"What is asked."`
	Owner   UserID    `yaml:"owner" need:"yes" doc:"Id of the person who counts as requester."`
	Roles   []string  `yaml:"roles" doc:"Roles of the scheduled asker; empty: LOW tools alone."`
}

// Retention says how long ended runs and the audit are kept; zero: for ever.
type Retention struct {
	Runs  time.Duration `yaml:"runs" min:"24h" doc:"Runs that ended longer ago are deleted with their messages, steps, outputs and approvals; the audit stays."`
	Audit time.Duration `yaml:"audit" min:"24h" doc:"Entries of the audit that are older go; a checkpoint takes their place, from which the rest is verified."`
}
