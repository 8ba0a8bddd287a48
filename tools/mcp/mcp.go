// Package mcp makes tools of what servers of the Model Context Protocol offer, over
// standard input and output or streamable HTTP. What a server says about itself is
// untrusted: its hints lower no risk unless an operator trusts it, its descriptions
// are bounded data, and the contract of each tool is pinned when it is first seen. A
// tool whose contract changed is held until somebody accepts it. A call is sent once;
// when the connection breaks during a call with effects, the outcome is unknown.
package mcp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"countersign/tools"
	"countersign/tools/outbound"
)

// Config declares one server. Exactly one of Command and URL is given.
type Config struct {
	Name    string   // prefix of its tools' names
	Command []string // program and arguments of a server on standard input and output
	URL     string   // address of a server over streamable HTTP; private ones are allowed
	// Headers are sent to the origin of URL only. They may hold secrets.
	Headers map[string]string
	// Env is the whole environment of the program: ours holds Slack's and the model's
	// credentials. Not even PATH is passed on; a program that starts others by name
	// needs it declared here. The program itself is found by our own PATH.
	Env      map[string]string
	Trusted  bool       // its hints are believed where they lower what we ask
	Risk     tools.Risk // of its tools; empty: high
	Allow    []string   // the server's own names of the tools that are offered; empty: all
	Roles    []string   // who may ask for them
	Channels []string   // where they may be asked for
	Private  bool       // their results are not for the channel
	Egress   *bool      // they send data out of the house; nil: unless a trusted server says otherwise
	Timeout  time.Duration
	// MayChange are the Parts of a tool's contract whose change is accepted by itself;
	// a change of any other holds the tool until an operator accepts it.
	MayChange []string
	Pins      Pins                   // nil: kept in memory, and forgotten with the process
	Taken     func(name string) bool // whether another tool has that name already; nil: none
	Progress  func(Progress)         // told of the progress of calls; must not block; nil: nobody
	Logger    *slog.Logger
	Version   string         // ours, told to the server
	Roots     *x509.CertPool // trusted certificate authorities; nil: the system's

	pace pace // of reconnecting; zero: defaultPace
	link linker
}

// Progress is what a server said about a call that is still running.
type Progress struct {
	Run, Step   string // whose call it is
	Tool        string
	Message     string // the server's words, bounded; may be empty
	Done, Total float64
}

// ErrConfig is returned for a declaration that cannot work.
var ErrConfig = errors.New("MCP server")

// Connect checks the declaration and starts to connect in the background. A server
// that is down is no error: its tools come when it does. The context bounds nothing
// but the start; Close ends the server.
func Connect(ctx context.Context, cfg Config) (*Server, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrConfig, cfg.Name, err)
	}
	return start(ctx, withDefaults(cfg)), nil
}

func withDefaults(cfg Config) Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("mcp_server", cfg.Name)
	if cfg.Pins == nil {
		cfg.Pins = &memoryPins{hashes: map[string]string{}}
	}
	if cfg.Taken == nil {
		cfg.Taken = func(string) bool { return false }
	}
	if cfg.Progress == nil {
		cfg.Progress = func(Progress) {}
	}
	if cfg.Risk == "" {
		cfg.Risk = tools.High
	}
	if cfg.pace == (pace{}) {
		cfg.pace = defaultPace
	}
	if cfg.link == nil && cfg.URL != "" {
		cfg.link = httpLink(cfg)
	} else if cfg.link == nil {
		cfg.link = stdioLink(cfg)
	}
	return cfg
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,32}$`)

func checkConfig(cfg Config) error {
	switch {
	case !namePattern.MatchString(cfg.Name):
		return errors.New("the name is not 1 to 32 of letters, digits, _ and -")
	case cfg.link != nil:
	case len(cfg.Command) == 0 && cfg.URL == "":
		return errors.New("it has neither command nor url")
	case len(cfg.Command) > 0 && cfg.URL != "":
		return errors.New("it has command and url; a server is one or the other")
	case len(cfg.Command) > 0 && len(cfg.Headers) > 0:
		return errors.New("headers are for servers with a url")
	case cfg.URL != "" && len(cfg.Env) > 0:
		return errors.New("env is for servers with a command")
	}
	for _, part := range cfg.MayChange {
		if !slices.Contains(Parts, part) {
			return fmt.Errorf("%q is no part of a contract: %s", part, strings.Join(Parts, ", "))
		}
	}
	if !slices.Contains([]tools.Risk{"", tools.Low, tools.Medium, tools.High}, cfg.Risk) {
		return fmt.Errorf("risk %q is not one of low, medium, high", cfg.Risk)
	}
	return checkTransport(cfg)
}

// checkTransport looks at what only one of the transports uses. Values are not told:
// they may be secrets.
func checkTransport(cfg Config) error {
	if cfg.URL != "" {
		if _, err := outbound.Address(cfg.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	for name, value := range cfg.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("header %q is not a valid header", name)
		}
	}
	for name, value := range cfg.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("env %q is not a valid variable", name)
		}
	}
	return nil
}
