package config

import "time"

// Default is the configuration when nothing is said: a new value on each call.
func Default() *Config {
	return &Config{
		Slack: Slack{Askers: "members", ThreadReplies: "mention", Language: "auto"},
		Model: Model{
			Name: "gpt-5-mini", API: "chat", Timeout: 60 * time.Second,
			Price: Price{Currency: "USD"},
		},
		Database: Database{URL: NewSecret("sqlite:countersign.db")},
		HTTP:     HTTP{Addr: "127.0.0.1:8080"},
		Limits: Limits{
			MaxSteps: 10, MaxTokens: 50000, MaxActiveTime: 60 * time.Second,
			SelfHeal: 3, LoopWindow: 3, InputTTL: 24 * time.Hour,
			OpenApprovals: OpenApprovals{PerRun: 5, PerAsker: 10},
			ToolTimeout:   10 * time.Second, ToolOutputChars: 1000,
		},
		Approvals: Approvals{
			Notify: "none", TTL: time.Hour, Sweep: 5 * time.Second, Quorum: 1,
			EditApproves: true, StepUp: "none", ResumePerMinute: 60,
		},
	}
}

// setDefaults fills what a sandbox does not say.
func (s *Sandbox) setDefaults() { s.Engine, s.Memory, s.Pids = "docker", 256<<20, 64 }

// setDefaults makes a declared call a read unless its method says otherwise.
func (h *HTTPTool) setDefaults() { h.Method, h.MaxBytes = "GET", 1<<20 }

// setDefaults makes a companion read a GET.
func (r *Read) setDefaults() { r.Method = "GET" }

// setDefaults counts a bound for each asker.
func (a *AtMost) setDefaults() { a.Per = "asker" }

// defaulter is a part of the configuration that has defaults of its own when it is present.
type defaulter interface{ setDefaults() }
