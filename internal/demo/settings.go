package demo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/agent/llm/playbook"
	"countersign/internal/config"
)

// configure reads the demo's configuration as any other is read. Of the
// environment only the model's variables count: nothing else may lead outside.
func configure(o Options, p *places) (*config.Config, map[string]string, error) {
	text := strings.NewReplacer(
		"@SHOP@", "http://"+p.shop.Addr().String(), "@DIR@", filepath.ToSlash(o.Dir),
	).Replace(string(settings))
	path := filepath.Join(o.Dir, "countersign.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, nil, fmt.Errorf("write the demo's configuration: %w", err)
	}
	given := map[string]string{
		"SLACK_APP_TOKEN": appToken, "SLACK_BOT_TOKEN": botToken, "SLACK_API_URL": "http://" + p.slack.Addr().String() + "/api/",
		"DATABASE_URL":    "sqlite:" + filepath.Join(o.Dir, "countersign.db"),
		"OPENAI_BASE_URL": "http://" + p.model.Addr().String() + "/v1", "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": playbook.Model,
	}
	if realModel(o) != "" {
		for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"} {
			delete(given, name)
			if v, ok := o.Env(name); ok {
				given[name] = v
			}
		}
	}
	cfg, err := config.Load(path, func(name string) (string, bool) { v, ok := given[name]; return v, ok })
	return cfg, given, err
}

func announce(o Options, p *places, realModel bool) {
	fmt.Fprintf(o.Out, "\ncountersign demo: http://%s\n\n", p.slack.Addr())
	if realModel {
		fmt.Fprintln(o.Out, "The model is the one that your environment names. Slack and the shop are local stand-ins.")
	} else {
		fmt.Fprintln(o.Out, "The model is scripted: it plays written scenes, which the page lists. Set OPENAI_API_KEY or OPENAI_BASE_URL for a real one.")
	}
	fmt.Fprintf(o.Out, "Everything it keeps is in %s; --fresh starts over. Ctrl-C stops it.\n\n", o.Dir)
}

// invite says how to serve in the demo's workspace, where nobody serves yet.
func invite(o Options, p *places, given map[string]string) {
	fmt.Fprintf(o.Out, "\ncountersign demo without its bot: http://%s\n\nThe workspace, the shop and the model are there; serve in another terminal:\n\n", p.slack.Addr())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if strings.HasPrefix(name, "OPENAI_") && realModel(o) != "" {
			continue // it is in the environment already
		}
		fmt.Fprintf(o.Out, "  export %s='%s'\n", name, given[name])
	}
	fmt.Fprintf(o.Out, "\nThen `countersign doctor` and `countersign serve`, with a countersign.yaml of your own or with\n--config '%s'.\n\n", filepath.Join(o.Dir, "countersign.yaml"))
}
