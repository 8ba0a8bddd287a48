// Package demo is the whole product on one machine without an account anywhere:
// the local Slack with its web page, a small shop to work for, a scripted model
// unless a real one is configured, and countersign itself, wired as for any workspace.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/agent/llm/playbook"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/fault"
	"countersign/internal/shop"
	"countersign/localslack"
)

//go:embed countersign.yaml
var settings []byte

// Options say where and how the demo runs.
type Options struct {
	Dir    string // everything that it keeps lies here
	Fresh  bool   // start over: forget what is in the folder
	Addr   string // of the page; its port is kept over restarts
	Think  time.Duration
	NoBot  bool // only the workspace, the shop and the model: somebody else serves
	Env    func(string) (string, bool)
	Out    io.Writer
	Logger *slog.Logger
}

// Lock is the file in the folder whose lock a running demo has. It is never removed.
const Lock = ".lock"

// marker is the file that shows that a folder is a demo's own and may be emptied.
const marker = ".countersign-demo"

// Tokens of the local Slack. They open nothing else.
const (
	appToken = "xapp-1-demo"
	botToken = "xoxb-demo"
)

// Run plays the demo until the context ends.
func Run(ctx context.Context, o Options) error {
	if err := prepare(o); err != nil {
		return err
	}
	places, err := listen(ctx, o)
	if err != nil {
		return err
	}
	defer places.close()
	g, ctx := errgroup.WithContext(ctx)
	slackServer, err := startSlack(o, places)
	if err != nil {
		return err
	}
	defer closing(o, "local Slack", slackServer.Close)
	shopService, err := shop.Open(filepath.Join(o.Dir, "shop"), time.Now)
	if err != nil {
		return err
	}
	defer closing(o, "shop", shopService.Close)
	serve(ctx, g, places.shop, shopService.Handler())
	scripted, err := playbook.New(playbook.Scenes(), playbook.Options{Think: o.Think})
	if err != nil {
		return err
	}
	serve(ctx, g, places.model, scripted)
	cfg, given, err := configure(o, places)
	if err != nil {
		return err
	}
	if o.NoBot {
		invite(o, places, given)
		return g.Wait()
	}
	a, err := app.New(ctx, cfg, app.Options{Logger: o.Logger, Gaps: bot.Gaps{Progress: time.Second}})
	if err != nil {
		return err
	}
	g.Go(func() error { return a.Run(ctx) })
	announce(o, places, realModel(o) != "")
	return g.Wait()
}

// longestThought is how long the scripted model may take: less than what a run may work.
const longestThought = 30 * time.Second

// Check refuses what no demo is played with: an address that others reach, a folder
// that holds something else, a time that is none. It writes nothing, so it comes before the folder's lock.
func Check(o Options) error {
	if o.Think < 0 || o.Think > longestThought {
		return fault.New(fault.Invalid, "--think takes a time from 0s to %s.", longestThought)
	}
	if o.Addr != "" {
		if err := loopback(o.Addr); err != nil {
			return err
		}
	}
	entries, err := content(o.Dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, marker)); err != nil {
		return fault.New(fault.Invalid, "The folder %s was not made by the demo: choose another with --dir.", o.Dir)
	}
	return nil
}

// content lists what is in the folder beside the lock.
func content(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be read: choose another with --dir.", dir)
	}
	return slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == Lock }), nil
}

// prepare makes the folder, or empties it when asked to. It is looked at again, now under the lock.
func prepare(o Options) error {
	if err := Check(o); err != nil {
		return err
	}
	mark := filepath.Join(o.Dir, marker)
	if o.Fresh {
		if err := empty(o.Dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be made: choose another with --dir.", o.Dir)
	}
	if err := os.WriteFile(mark, []byte("This folder belongs to the demo of countersign; --fresh empties it.\n"), 0o600); err != nil {
		return fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be written: choose another with --dir.", o.Dir)
	}
	return shop.Seed(filepath.Join(o.Dir, "shop"))
}

func empty(dir string) error {
	entries, err := content(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fault.Wrap(err, fault.Invalid, "The demo's folder %s cannot be emptied.", dir)
		}
	}
	return nil
}

func serve(ctx context.Context, g *errgroup.Group, l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	g.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
}

func closing(o Options, what string, f func() error) {
	if err := f(); err != nil {
		o.Logger.Warn("stop the demo", "part", what, "error", err)
	}
}

// realModel is the variable that asks for a real model; empty: the scripted one plays.
func realModel(o Options) string {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"} {
		if v, ok := o.Env(name); ok && v != "" {
			return name
		}
	}
	return ""
}

func startSlack(o Options, p *places) (*localslack.Server, error) {
	said, err := words()
	if err != nil {
		return nil, err
	}
	c := workspace(filepath.Join(o.Dir, "slack"), realModel(o) != "", said)
	c.Logger = o.Logger
	s, err := localslack.New(c)
	if err != nil {
		return nil, fmt.Errorf("local Slack: %w", err)
	}
	s.SetPage(localslack.NewPage(s, *c.Page))
	return s, s.Start(p.slack)
}
