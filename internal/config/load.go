package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Load reads the file at path ("" for none) and lets the environment win over
// it. It reports every problem it finds: the error is then a Problems. A file
// that cannot be read is an error of its own.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	var data []byte
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("the configuration %s cannot be read: %w", path, plainPathError(err))
		}
	}
	return Parse(path, data, env)
}

// Parse is Load for a file that has been read already; name appears in messages.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c := Default()
	d := &decoder{
		source:  source{file: name, at: map[string]position{}, env: map[string]string{}},
		anchors: map[string]ast.Node{},
	}
	d.values = values{env: env, read: os.ReadFile, used: &d.source.secretFiles}
	if root := d.parseYAML(data); root != nil {
		d.value(root, reflect.ValueOf(c).Elem(), "", field{})
	}
	d.overrides(c)
	c.source = d.source
	// A value that could not be read stands as its default, which would make
	// what is checked across settings misleading; so those checks come after.
	if len(d.problems) > 0 {
		return nil, d.problems.asError()
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.warnings = slices.Concat(d.warnings, c.advise())
	c.warnings.sort()
	return c, nil
}

// override is an environment variable that wins over a key of the file.
type override struct {
	variable string
	key      string
	set      func(*Config, string)
	secret   bool
}

// fromEnvironment lists the environment variables that the bot knows.
var fromEnvironment = []override{
	{"SLACK_APP_TOKEN", "slack.app_token", func(c *Config, v string) { c.Slack.AppToken = NewSecret(v) }, true},
	{"SLACK_BOT_TOKEN", "slack.bot_token", func(c *Config, v string) { c.Slack.BotToken = NewSecret(v) }, true},
	{"SLACK_API_URL", "slack.api_url", func(c *Config, v string) { c.Slack.APIURL = v }, false},
	{"OPENAI_API_KEY", "model.api_key", func(c *Config, v string) { c.Model.Key = NewSecret(v) }, true},
	{"OPENAI_BASE_URL", "model.base_url", func(c *Config, v string) { c.Model.BaseURL = v }, false},
	{"OPENAI_MODEL", "model.name", func(c *Config, v string) { c.Model.Name = v }, false},
	{"DATABASE_URL", "database.url", func(c *Config, v string) { c.Database.URL = NewSecret(v) }, true},
	{"COUNTERSIGN_HTTP_ADDR", "http.addr", func(c *Config, v string) { c.HTTP.Addr = v }, false},
}

// overrides lets each variable that is set and not empty win over the file.
// Secrets among them may be file:PATH too.
func (d *decoder) overrides(c *Config) {
	for _, o := range fromEnvironment {
		value, ok := d.values.env(o.variable)
		if !ok || value == "" {
			continue
		}
		d.source.env[o.key] = o.variable
		if o.secret {
			filled, err := d.values.secret(value)
			if err != nil {
				d.problems = append(d.problems, d.source.problem(o.key, "%v", err))
				continue
			}
			value = filled
		}
		o.set(c, value)
	}
}

// Problem is something wrong with a setting that shows only where it is used.
func (c *Config) Problem(key, text string) Problem { return c.source.problem(key, "%s", text) }

// Warnings lists what is allowed but probably not meant, in the order of the file.
func (c *Config) Warnings() Problems { return slices.Clone(c.warnings) }
