// Command countersign is a ChatOps agent for Slack whose risky actions are
// countersigned by people.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"countersign/internal/config"
	"countersign/internal/fault"
)

// cli is every command with its flags.
type cli struct {
	Config    string `placeholder:"FILE" help:"Configuration file (default: countersign.yaml if present)."`
	LogFormat string `enum:"text,json" default:"text" help:"text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error."`

	Serve     serveCmd     `cmd:"" help:"Serve a Slack workspace."`
	Demo      demoCmd      `cmd:"" help:"Try everything in the browser: local Slack, scripted model."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the database to this version's schema."`
	Backup    backupCmd    `cmd:"" help:"Copy the SQLite database into a file while it is served."`
	Ready     readyCmd     `cmd:"" help:"Say whether the serving process is ready, for health checks."`
	Manifest  manifestCmd  `cmd:"" help:"Print the Slack app manifest that the configuration needs."`
	Doctor    doctorCmd    `cmd:"" help:"Check everything that serving needs, and say how to mend what is broken."`
	IDs       idsCmd       `cmd:"" name:"ids" help:"Find the Slack ids of people, channels and user groups."`
	Settings  configCmd    `cmd:"" name:"config" help:"Check the configuration, or print its schema."`
	Runs      runsCmd      `cmd:"" help:"Look at runs, stop them, wake them."`
	Approvals approvalsCmd `cmd:"" help:"Look at approvals, and decide them."`
	Grants    grantsCmd    `cmd:"" help:"Standing grants: list them, revoke one."`
	Audit     auditCmd     `cmd:"" help:"Verify and export the audit record."`
	Tools     toolsCmd     `cmd:"" help:"Look at what tools of MCP servers promised, and accept what changed."`
	Docs      docsCmd      `cmd:"" help:"Look at deleted documents, and take them back."`
	Tokens    tokensCmd    `cmd:"" help:"Tokens of the HTTP interface."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// host is the process as a command sees it; tests bring their own.
type host struct {
	lookup func(string) (string, bool) // environment variables
	in     io.Reader
	now    func() time.Time
}

// env is what a command works with.
type env struct {
	host
	cli *cli
	ctx context.Context
	out io.Writer
	log *slog.Logger
}

func main() {
	os.Exit(untilSignal(os.Args[1:]))
}

// untilSignal runs a command until it ends or the process is told to stop.
func untilSignal(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, os.Stdout, os.Stderr)
}

// run is main without the process: arguments in, exit code out.
func run(ctx context.Context, args []string, out, errout io.Writer) int {
	return host{lookup: os.LookupEnv, in: os.Stdin, now: time.Now}.run(ctx, args, out, errout)
}

func (h host) run(ctx context.Context, args []string, out, errout io.Writer) int {
	var c cli
	parser, err := kong.New(&c, kong.Name("countersign"), kong.Writers(out, errout), kong.UsageOnError(),
		kong.Description("A ChatOps agent for Slack whose risky actions are countersigned by people."))
	if err != nil {
		fmt.Fprintln(errout, err)
		return 2
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(errout, "countersign: %s\n", err)
		return 2
	}
	e := &env{host: h, cli: &c, ctx: ctx, out: out, log: logger(&c, errout)}
	if err := k.Run(e); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(errout, "countersign: %s\n", sentence(err))
		return 1
	}
	return 0
}

func logger(c *cli, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// sentence is what a person reads of an error: a fault's own sentence, or the whole text.
func sentence(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

// load reads the configuration that the flags and the environment name.
func (e *env) load() (*config.Config, error) {
	path := e.cli.Config
	if path == "" {
		if _, err := os.Stat(config.DefaultFile); err == nil {
			path = config.DefaultFile
		}
	}
	return config.Load(path, e.lookup)
}
