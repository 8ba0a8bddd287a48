package config

import "strings"

// HighTools names the configured tools of HIGH risk, which need a countersign.
func (c *Config) HighTools() []string {
	var out []string
	t := c.Tools
	if t.Docs != nil && high(t.Docs.Risk, true) {
		out = append(out, "delete_document")
	}
	for _, db := range t.SQL {
		if db.Write && high(db.Risk, true) {
			out = append(out, "execute_sql on "+db.Name)
		}
	}
	for _, h := range t.HTTP {
		if high(h.Risk, h.Method != "GET" && h.Method != "HEAD") {
			out = append(out, h.Name)
		}
	}
	if t.Sandbox != nil && high(t.Sandbox.Risk, true) {
		out = append(out, "run_command")
	}
	for _, m := range t.MCP {
		if high(m.Risk, true) {
			out = append(out, "the tools of "+m.Name)
		}
	}
	return out
}

// high is whether a tool is HIGH: as declared, else by its nature.
func high(declared string, byNature bool) bool {
	if declared == "" {
		return byNature
	}
	return declared == "high"
}

// advise lists what is allowed but probably not meant.
func (c *Config) advise() Problems {
	var out Problems
	warn := func(key, format string, args ...any) {
		out = append(out, c.source.problem(key, format, args...))
	}
	high := c.HighTools()
	if len(high) > 0 && len(c.Approvals.Approvers) == 0 {
		warn("approvals.approvers", "nobody may countersign, so these are refused: %s", strings.Join(high, ", "))
	}
	if only, alone := c.onlyApprover(); alone && len(high) > 0 && !c.Approvals.SelfApproval {
		warn("approvals.approvers", "%s is the only person who may countersign, and nobody countersigns their own request: what %s asks for cannot be approved", only, only)
	}
	if c.Model.Timeout > c.Limits.MaxActiveTime {
		warn("model.timeout", "one reply may take longer than a whole run (limits.max_active_time is %s)", c.Limits.MaxActiveTime)
	}
	if w := c.Model.Window; w > 0 && w < smallestWindow {
		warn("model.window", "a window of %d tokens hardly holds the instructions and the tools; %d is the least that works well", w, smallestWindow)
	}
	if c.Limits.ToolTimeout > c.Limits.MaxActiveTime {
		warn("limits.tool_timeout", "one tool call may take longer than a whole run (limits.max_active_time is %s)", c.Limits.MaxActiveTime)
	}
	for i, m := range c.Tools.MCP {
		if m.Risk == "low" && !m.Trusted {
			warn(item("tools.mcp", i)+".risk", "every tool of %s runs without approval, and the server is not trusted", m.Name)
		}
	}
	return out
}

// smallestWindow is the least context, in tokens, in which a run has room.
const smallestWindow = 8192

// onlyApprover gives the one person who may countersign, where it is known to be one.
func (c *Config) onlyApprover() (UserID, bool) {
	people := map[UserID]bool{}
	var last UserID
	for _, name := range c.Approvals.Approvers {
		r := c.Roles[name]
		if len(r.Usergroups) > 0 {
			return "", false
		}
		for _, id := range r.Users {
			people[id], last = true, id
		}
	}
	return last, len(people) == 1
}

// ServeProblems lists what serve needs beyond a correct configuration: the two
// tokens of Slack and a model that can be reached. The error is a Problems.
func (c *Config) ServeProblems() error {
	var out Problems
	if c.Slack.AppToken.IsZero() {
		out = append(out, Problem{Key: "slack.app_token", Text: "is missing; set SLACK_APP_TOKEN to the app-level token (xapp-…, from Basic Information, App-Level Tokens, with connections:write)"})
	}
	if c.Slack.BotToken.IsZero() {
		out = append(out, Problem{Key: "slack.bot_token", Text: "is missing; set SLACK_BOT_TOKEN to the bot token (xoxb-…, from OAuth & Permissions after installing the app)"})
	}
	if c.Model.Key.IsZero() && c.Model.BaseURL == "" {
		out = append(out, Problem{Key: "model.api_key", Text: "is missing; set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key"})
	}
	return out.asError()
}
