package bot

import (
	"context"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
)

// nativeStatus is Slack's own line below a thread: "countersign is working…". It is
// decoration: a way that Slack refuses once is not tried again, and no failure of it
// concerns a run.
type nativeStatus struct {
	mu    sync.Mutex
	off   map[string]bool
	shown map[string]shownStatus // by run
}

type shownStatus struct {
	state string
	at    time.Time
}

// The ways to say it: an agent's session, and the older one of every app.
const (
	methodSession = "agents.sessions.setStatus"
	methodThread  = "assistant.threads.setStatus"
)

// An assistant's status vanishes after two minutes, so it is said again before.
const (
	statusAgain   = 90 * time.Second
	statusTimeout = 5 * time.Second
	mostStatuses  = 2000
)

// sessionState is a run's state in the words of Slack's sessions.
func sessionState(r *agent.Run) string {
	switch r.State {
	case agent.WaitingApproval, agent.WaitingInput:
		return "suspended"
	case agent.Success, agent.Failed, agent.Cancelled:
		return "active"
	}
	return "processing"
}

// showStatus says in the thread how a run is doing, beside the progress message.
func (b *Bot) showStatus(run *agent.Run, lang string) {
	state := sessionState(run)
	if !b.native.fresh(run.ID, state, b.Now()) {
		return
	}
	channel, thread := run.Channel, run.TS
	b.background("status", statusTimeout, func(ctx context.Context) error {
		b.sayStatus(ctx, channel, thread, state, lang)
		return nil
	})
}

func (b *Bot) sayStatus(ctx context.Context, channel, thread, state, lang string) {
	if b.native.may(methodSession) {
		_, err := b.API.SetAgentSessionStatusContext(ctx, slack.AgentSessionSetStatusParameters{Status: state, ChannelID: channel, ThreadTS: thread})
		if err == nil || !b.native.refused(methodSession, err) {
			return
		}
	}
	if b.native.may(methodThread) {
		text := "" // takes it away
		if state != "active" {
			text = b.Words.In(lang).Say("native." + state)
		}
		err := b.API.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: channel, ThreadTS: thread, Status: text,
		})
		b.native.refused(methodThread, err)
	}
}

// fresh says that a status is news, or would vanish.
func (n *nativeStatus) fresh(run, state string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off[methodSession] && n.off[methodThread] {
		return false
	}
	was, known := n.shown[run]
	again := state == "processing" && now.Sub(was.at) > statusAgain
	if known && was.state == state && !again || !known && state == "active" {
		return false
	}
	if n.shown == nil || len(n.shown) > mostStatuses {
		n.shown = map[string]shownStatus{}
	}
	n.shown[run] = shownStatus{state, now}
	if state == "active" {
		delete(n.shown, run)
	}
	return true
}

func (n *nativeStatus) may(method string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.off[method]
}

// refused remembers a way that Slack does not offer this app.
func (n *nativeStatus) refused(method string, err error) bool {
	if !said(err, "unknown_method", "feature_disabled", "not_authorized", "not_allowed", "not_allowed_token_type", "not_agent_app",
		"missing_scope", "method_deprecated", "deprecated_endpoint", "invalid_arguments", "team_access_not_granted") {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off == nil {
		n.off = map[string]bool{}
	}
	n.off[method] = true
	return true
}
