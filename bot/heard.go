package bot

import (
	"context"
	"errors"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
	"countersign/bot/words"
)

func typed(m *message) slacktext.Message {
	return slacktext.Message{Text: m.Text, Blocks: m.Blocks}
}

// heard is a message that a person typed where the bot listens.
func (b *Bot) heard(ctx context.Context, m message) error {
	if b.automatic(&m) || !b.listens(m.Channel) {
		return nil
	}
	said := b.reader().Read(typed(&m))
	direct := m.ChannelType == "im" || m.Type == "app_mention" || said.Mentioned
	if !direct && m.ThreadTS == "" {
		return nil
	}
	if said.Word != slacktext.NoWord {
		return b.word(ctx, m, said.Word, direct)
	}
	if direct {
		return b.asked(ctx, m, said)
	}
	return b.replied(ctx, m, said)
}

// asked is a request: it starts a run, or reaches the asker's unfinished one.
func (b *Bot) asked(ctx context.Context, m message, said slacktext.Said) error {
	if said.Text == "" {
		return b.once(ctx, m, "help", func(ctx context.Context) error { return b.help(ctx, m) })
	}
	_, err := b.start(ctx, m, said, false)
	return err
}

// replied is a message in a thread without a mention. It reaches the writer's own
// run when that waits for an answer. Where the configuration lets all replies
// through, every unfinished run hears it: its asker's words as an instruction,
// anybody else's quoted.
func (b *Bot) replied(ctx context.Context, m message, said slacktext.Said) error {
	runs, err := b.Views.OpenRuns(ctx, b.thread(m.Channel, m.root()))
	if err != nil || said.Text == "" {
		return err
	}
	for i := range runs {
		r := &runs[i]
		mine := r.Asker.User == m.User
		owned := r.Owner.User == m.User
		waits := false
		if (mine || owned) && r.State == agent.WaitingInput && !b.AllReplies {
			if waits, err = b.waitsFor(ctx, r, m.TS); err != nil {
				return err
			}
		}
		switch {
		case owned && (b.AllReplies || waits):
			err = b.tell(ctx, agent.Message{
				Run: r.ID, Kind: agent.FollowUp, From: r.Owner, Name: b.Directory.KnownName(m.User), Text: said.Text, TS: m.TS,
			}, "owner/"+r.ID+"/"+m.TS)
		case mine && (b.AllReplies || waits):
			_, err = b.start(ctx, m, said, true)
		case b.AllReplies && !mine && !owned:
			err = b.tell(ctx, agent.Message{
				Run: r.ID, Kind: agent.FollowUp, From: b.actor(m.User), Name: b.Directory.KnownName(m.User), Text: said.Text, TS: m.TS,
			}, "quote/"+r.ID+"/"+m.TS)
		}
		if err != nil && !errors.Is(err, agent.ErrSettled) {
			return err
		}
	}
	return nil
}

// waitsFor says whether a reply was written after what its run waits for was there to be
// read: threads are read again after a restart, and Slack may deliver late.
func (b *Bot) waitsFor(ctx context.Context, r *agent.Run, ts string) (bool, error) {
	work, err := b.Views.Load(ctx, r.ID)
	if err != nil {
		return false, err
	}
	return work.Meant(ts, b.Now()), nil
}

func (b *Bot) start(ctx context.Context, m message, said slacktext.Said, follow bool) (agent.Accepted, error) {
	who := b.actor(m.User)
	return b.Agent.Start(ctx, agent.Mention{
		Thread: b.thread(m.Channel, m.root()), MessageTS: m.TS, Asker: who, Name: b.Directory.KnownName(m.User),
		Text: said.Text, Language: words.Guess(said.Text), Follow: follow,
	})
}

// word acts upon a control word: before the queue, so that a stop never waits
// behind the run that it stops.
func (b *Bot) word(ctx context.Context, m message, w slacktext.Word, direct bool) error {
	switch w {
	case slacktext.Help:
		if direct {
			return b.once(ctx, m, "help", func(ctx context.Context) error { return b.help(ctx, m) })
		}
		return nil
	case slacktext.Stop:
		return b.stopWord(ctx, m, direct)
	}
	runs, err := b.Views.OpenRuns(ctx, b.thread(m.Channel, m.root()))
	if err != nil || len(runs) == 0 && !direct {
		return err
	}
	return b.once(ctx, m, "status", func(ctx context.Context) error { return b.status(ctx, m, runs) })
}

// once runs something after the acknowledgement, for the first delivery of a message only.
func (b *Bot) once(ctx context.Context, m message, what string, f func(context.Context) error) error {
	fresh, err := b.Clicks.SeenEvent(ctx, what+"/"+agent.MessageKey(b.thread(m.Channel, m.root()), m.TS), b.Now())
	if err != nil || !fresh {
		return err
	}
	b.background(what, callTimeout, f)
	return nil
}

// stopWord stops the asker's own run at once; somebody else's after a look at who they are.
func (b *Bot) stopWord(ctx context.Context, m message, direct bool) error {
	runs, err := b.Views.OpenRuns(ctx, b.thread(m.Channel, m.root()))
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].Asker.User == m.User {
			return b.tell(ctx, agent.Message{Run: runs[i].ID, Kind: agent.Stop, From: runs[i].Asker, Text: "stop", TS: m.TS}, "stop/"+m.Channel+"/"+m.TS)
		}
	}
	if len(runs) == 0 && !direct {
		return nil
	}
	if len(runs) == 0 {
		return b.once(ctx, m, "stop", func(ctx context.Context) error {
			return b.whisper(ctx, m.Channel, m.User, m.root(), b.Card.Refusal(b.langOf(ctx, m.User), "nothing_running", "", nil))
		})
	}
	return b.stopOthers(ctx, m, &runs[len(runs)-1])
}

// stopOthers keeps somebody's stop as if it were pressed: who they are is looked up after
// the acknowledgement, and a death in between loses nothing.
func (b *Bot) stopOthers(ctx context.Context, m message, run *agent.Run) error {
	c := Click{
		ID: "stop/" + m.Channel + "/" + m.TS, Action: actStop, Actor: b.actor(m.User),
		Channel: m.Channel, MessageTS: m.root(), Run: run.ID, At: b.Now(),
	}
	fresh, err := b.Clicks.SaveClick(ctx, c)
	if err != nil || !fresh {
		return err
	}
	b.background("stop", callTimeout, func(ctx context.Context) error { return b.act(ctx, c, m.root()) })
	return nil
}

// stopRun stops a run for a person who may: the asker, or who may countersign in
// it. The code says why not.
func (b *Bot) stopRun(ctx context.Context, run *agent.Run, user, key string) (code string, err error) {
	person, err := b.Directory.Person(ctx, b.actor(user), true)
	if err != nil {
		return "cannot_check", nil
	}
	needs, err := b.needs(ctx, run.ID)
	if err != nil {
		return "", err
	}
	if !b.Agent.MayStop(run, person, needs) {
		if person.Standing != policy.Member {
			return string(person.Standing), nil
		}
		return "not_stopper", nil
	}
	err = b.tell(ctx, agent.Message{Run: run.ID, Kind: agent.Stop, From: person.Actor, Text: "stop"}, key)
	if errors.Is(err, agent.ErrSettled) {
		return "nothing_running", nil
	}
	return "", err
}

func (b *Bot) needs(ctx context.Context, run string) ([]policy.Requirement, error) {
	work, err := b.Views.Load(ctx, run)
	if err != nil {
		return nil, err
	}
	var out []policy.Requirement
	for _, a := range work.Approvals {
		if a.Open() {
			out = append(out, a.Current().Requirement)
		}
	}
	return out, nil
}

// tell stores a message for a run; one that has ended meanwhile needs none.
func (b *Bot) tell(ctx context.Context, m agent.Message, key string) error {
	err := b.Agent.Tell(ctx, m, key)
	if errors.Is(err, agent.ErrSettled) && m.Kind == agent.Stop {
		return nil
	}
	return err
}

// actor is a person as events name them. The directory says whether they are
// really of our workspace before anything depends on it.
func (b *Bot) actor(user string) policy.Actor { return policy.Actor{Team: b.Self.Team, User: user} }
