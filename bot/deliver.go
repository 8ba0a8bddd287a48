package bot

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot/card"
)

// The delivery loop looks for work when it is poked, when something that was put
// off is due, and each second for what other replicas committed.
const (
	deliverEvery = time.Second
	deliverers   = 8
)

// deliverLoop keeps up to deliverers messages on their way. A slow answer of Slack
// holds up its own message alone.
func (b *Bot) deliverLoop(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, deliverers)
	for {
		var urgent sync.WaitGroup
		for _, d := range b.due(ctx, deliverers-len(slots)) {
			slots <- struct{}{}
			if d.Priority <= agent.PriorityAnswer {
				urgent.Add(1)
			}
			all.Go(func() {
				if d.Priority <= agent.PriorityAnswer {
					defer urgent.Done()
				} else {
					giveWay(ctx, &urgent)
				}
				b.soon.note(b.deliver(ctx, d))
				<-slots
				b.Poke() // it may be wanted anew, and others may have found no slot
			})
		}
		if !b.rest(ctx, b.soon.take(b.Now(), deliverEvery)) {
			return nil
		}
	}
}

// headStart is how long progress gives way to the cards and answers that were
// claimed with it: whoever comes first gets the next slot.
const headStart = 300 * time.Millisecond

func giveWay(ctx context.Context, urgent *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(ctx, headStart)
	defer cancel()
	gone := make(chan struct{})
	go func() { urgent.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// rest waits until there may be something to deliver; false when the program stops.
func (b *Bot) rest(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-b.poke:
	}
	return ctx.Err() == nil
}

// due claims what is to be delivered, at most n.
func (b *Bot) due(ctx context.Context, n int) []Delivery {
	if n == 0 || b.gone.dead() || b.unfit() != nil {
		return nil
	}
	now := b.Now()
	due, err := b.Outbox.ClaimDeliveries(ctx, b.Owner, now, now.Add(b.Lease), n)
	if err != nil && ctx.Err() == nil {
		b.Logger.WarnContext(ctx, "deliveries cannot be claimed", "error", err)
	}
	return due
}

// sooner remembers when what was put off is due, each until then: a poke that comes
// earlier must not make it wait for the next second.
type sooner struct {
	mu  sync.Mutex
	due []time.Time // ordered
}

func (s *sooner) note(at time.Time) {
	if at.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, known := slices.BinarySearchFunc(s.due, at, time.Time.Compare); !known {
		s.due = slices.Insert(s.due, i, at)
	}
}

// take gives how long to rest, at most so long, and forgets what is due by then.
func (s *sooner) take(now time.Time, most time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := 0
	for passed < len(s.due) && !s.due[passed].After(now) {
		passed++
	}
	s.due = slices.Delete(s.due, 0, passed)
	switch {
	case passed > 0:
		return time.Millisecond // it may have come due after the last look
	case len(s.due) > 0:
		return min(s.due[0].Sub(now), most)
	}
	return most
}

// deliver brings one subject's message up to date and stores the receipt.
func (b *Bot) deliver(ctx context.Context, d Delivery) (again time.Time) {
	calls, done := context.WithTimeout(ctx, b.Lease*4/5)
	r, later := b.unhurried(calls, d)
	if !later {
		r = b.attempt(calls, d)
	}
	done()
	r.At = b.Now()
	b.health.note(d, r)
	if r.Error != "" {
		b.Logger.WarnContext(ctx, "a delivery failed", "subject", d.Subject, "attempt", d.Attempts, "gone", r.Gone, "error", r.Error)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.storeTimeout())
	defer cancel()
	if err := b.Outbox.Delivered(ctx, d, r); err != nil {
		b.Logger.WarnContext(ctx, "a receipt could not be stored", "subject", d.Subject, "error", err)
	}
	return r.RetryAt
}

// unhurried puts off what nobody waits for, unless it is its turn. There may be very
// many of these, so they take half of the edits that Slack allows and no more.
func (b *Bot) unhurried(ctx context.Context, d Delivery) (Receipt, bool) {
	if d.Priority < agent.PriorityLater {
		return Receipt{}, false
	}
	now, gap := b.Now(), 2*b.Gaps.Update
	wait, err := b.Outbox.Pace(ctx, methodLater, "", now, gap)
	if err != nil || wait == 0 {
		b.soon.note(now.Add(gap)) // the next of these
		return Receipt{}, false
	}
	return Receipt{PostedTS: d.PostedTS, Hash: d.Hash, RetryAt: now.Add(wait)}, true
}

func (b *Bot) attempt(ctx context.Context, d Delivery) Receipt {
	if user, ok := strings.CutPrefix(d.Subject, "home/"); ok {
		return b.deliverHome(ctx, d, user)
	}
	if kind, id, rest, ok := parseSubject(d.Subject); ok && kind == "approval" && rest[0] == "people" {
		return b.deliverPeople(ctx, d, id)
	}
	if isFile(d.Subject) {
		return b.deliverFile(ctx, d)
	}
	msg, later, err := b.render(ctx, d)
	switch {
	case isGone(err):
		return Receipt{Version: d.Version, PostedTS: d.PostedTS, Gone: true}
	case err != nil:
		return b.failed(d, "", err)
	case msg == nil:
		return Receipt{Version: d.Version, PostedTS: d.PostedTS, Hash: d.Hash}
	}
	hash := card.Hash(*msg)
	if d.PostedTS != "" && hash == d.Hash {
		return Receipt{Version: d.Version, PostedTS: d.PostedTS, Hash: d.Hash, RetryAt: later}
	}
	if wait := b.tooSoon(d, msg); wait > 0 {
		return Receipt{PostedTS: d.PostedTS, Hash: d.Hash, RetryAt: b.Now().Add(wait)}
	}
	r := b.witnessed(ctx, d, msg, b.send(ctx, d, msg, hash))
	r.Wishes = b.fileWishes(d, msg, r)
	if r.RetryAt.IsZero() {
		r.RetryAt = later
	}
	return r
}

// render draws the subject's state as it is now. Later is when it will look
// different without anybody doing anything.
func (b *Bot) render(ctx context.Context, d Delivery) (msg *card.Message, later time.Time, err error) {
	kind, id, rest, ok := parseSubject(d.Subject)
	if !ok {
		return nil, later, agent.ErrNotFound
	}
	if kind == "person" {
		m := b.Card.Locked(b.langOf(ctx, id))
		return &m, later, nil
	}
	if kind == "approval" && rest[0] == "review" {
		return b.renderReview(ctx, d, id)
	}
	if kind == "approval" && rest[0] != "card" {
		return b.renderNote(ctx, d, id, rest)
	}
	if kind == "approval" {
		return b.renderCard(ctx, id)
	}
	if rest[0] == "bundle" {
		return b.renderBundle(ctx, d, id, rest)
	}
	work, err := b.Views.Load(ctx, id)
	if err != nil {
		return nil, later, err
	}
	at := b.where(b.lang(&work.Run), work.Run.TS)
	switch rest[0] {
	case "root":
		m := b.Card.Root(work, at)
		return &m, later, nil
	case "progress":
		m := b.Card.Progress(work, at)
		b.showStatus(&work.Run, at.Lang)
		return &m, b.movesOn(&work.Run, at.Now), nil
	case "answer", "private":
		if len(rest) > 1 {
			return b.renderQuestion(ctx, d, work, rest, at)
		}
		return b.renderAnswer(ctx, d, work, at)
	case "question":
		return b.renderQuestion(ctx, d, work, rest, at)
	}
	return nil, later, agent.ErrNotFound
}

// movesOn is when the elapsed time of a run that works is shown anew.
func (b *Bot) movesOn(r *agent.Run, now time.Time) time.Time {
	if sessionState(r) != "processing" {
		return time.Time{}
	}
	return now.Add(elapsedEvery)
}

const elapsedEvery = 30 * time.Second

// approvers are the people whose approvals let the run's calls happen.
func (b *Bot) approvers(ctx context.Context, work *agent.Work) (map[string][]policy.Actor, error) {
	out := map[string][]policy.Actor{}
	for _, s := range work.Steps {
		if s.Approval == "" || s.State != agent.StepSucceeded {
			continue
		}
		c, err := b.Views.Case(ctx, s.Approval)
		if err != nil {
			return nil, err
		}
		out[s.Approval] = c.Approval.Approvers()
	}
	return out, nil
}

// noAnswer is a run that ended without words: a stop is told by the progress line alone,
// unless an earlier answer of it stands.
func (b *Bot) noAnswer(d Delivery, work *agent.Work, at card.Where) (*card.Message, time.Time, error) {
	if d.PostedTS == "" {
		return nil, time.Time{}, nil
	}
	m := b.Card.Answer(work, at)
	return &m, time.Time{}, nil
}

func (b *Bot) renderCard(ctx context.Context, id string) (*card.Message, time.Time, error) {
	c, err := b.Views.Case(ctx, id)
	if err != nil {
		return nil, time.Time{}, err
	}
	work, err := b.Views.Load(ctx, c.Run.ID)
	if err != nil {
		return nil, time.Time{}, err
	}
	at := b.where(b.lang(&c.Run), c.Run.TS)
	at.Reworded, at.Hush = wasReworded(work), b.Card.HushedAt(work, c.Step.N)
	at.Read, at.Unknown = readBefore(work, c.Step.N), agent.UnknownBefore(work.Steps, c.Step.N, c.Step.Tool, c.Approval.Current().Args)
	b.staffed(ctx, c, &at)
	if err := b.beside(ctx, c, &at); err != nil {
		return nil, time.Time{}, err
	}
	m := b.Card.Approval(c, at)
	return &m, b.claimEnds(c), nil
}

// readBefore lists what the run had read when the call was proposed.
func readBefore(work *agent.Work, step int) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range work.Steps {
		for _, source := range s.Sources {
			if s.N < step && !seen[source] {
				seen[source] = true
				out = append(out, source)
			}
		}
	}
	return out
}

// parseSubject takes a subject apart: kind, id and the rest.
func parseSubject(subject string) (kind, id string, rest []string, ok bool) {
	parts := strings.Split(subject, "/")
	if len(parts) < 3 || parts[0] != "run" && parts[0] != "approval" && parts[0] != "person" {
		return "", "", nil, false
	}
	return parts[0], parts[1], parts[2:], true
}

func isAnswer(subject string) bool {
	kind, _, rest, ok := parseSubject(subject)
	return ok && kind == "run" && rest[0] == "answer"
}
