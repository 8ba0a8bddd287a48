package card

import (
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
	"countersign/tools"
)

// Status draws the private answer to "status": how far one run is.
func (r *Renderer) Status(w *agent.Work, at Where) Message {
	p := r.pen(at.Lang)
	m := Message{Text: p.say("progress.text." + string(w.Run.State)), Meta: Meta{Subject: agent.ProgressSubject(w.Run.ID), Run: w.Run.ID}}
	said := []string{p.say("progress." + string(w.Run.State)), p.say("status.since", "time", p.took(at.Now.Sub(w.Run.CreatedAt)))}
	said = append(said, p.waits(w)...)
	m.Blocks = append([]slack.Block{section(strings.Join(said, "\n"))}, rich(p.steps(w, 5, at.Now)...)...)
	return m
}

// mostTools bounds the list of what a person may ask for.
const mostTools = 25

// Help draws what a person may do here.
func (r *Renderer) Help(lang string, specs []tools.Spec) Message {
	p := r.pen(lang)
	m := Message{Text: p.say("help.text")}
	m.Blocks = []slack.Block{section(p.say("help.intro"))}
	var list []slack.RichTextElement
	n := 0
	for _, s := range specs {
		if n++; n > mostTools {
			continue
		}
		what := p.sentence(firstSentence(s.Description), 140)
		list = append(list, line(text("• "), coded(p.toolName(s.Name)), text(" "+what+" · "+p.risk(s.Risk))))
	}
	if n > mostTools {
		list = append(list, line(text(p.say("more", "n", grouped(n-mostTools)))))
	}
	if n == 0 {
		list = append(list, line(text(p.say("help.notools"))))
	}
	m.Blocks = append(m.Blocks, rich(list...)...)
	m.Blocks = append(m.Blocks, note(p.say("help.words")))
	return m
}

// Sentence is a message of one sentence, in mrkdwn.
func (r *Renderer) Sentence(said string) Message {
	return Message{Text: said, Blocks: []slack.Block{section(said)}}
}

// Pending lists what waits for a person, each with until when and a link to its
// request. links are those of the cases that are listed, "" where none is known.
func (r *Renderer) Pending(lang string, h Home, links []string) Message {
	p := r.pen(lang)
	m := Message{Text: p.say("pending.some"), Blocks: []slack.Block{section(p.say("pending.some"))}}
	for i := range links {
		c := &h.Waiting[i]
		said := "• " + code(c.Approval.Tool) + " · " + person(c.Run.Asker) + " · " + p.say("card.expires", "when", moment(c.Approval.ExpiresAt)) +
			" · " + p.place(c, Where{Link: links[i]})
		m.Blocks = append(m.Blocks, section(said))
	}
	m.Blocks = append(m.Blocks, p.homeMore(len(h.Waiting)-len(links), h.Partial, "countersign approvals list")...)
	return m
}

func firstSentence(s string) string {
	for _, end := range []string{". ", "。", "\n"} {
		if at := strings.Index(s, end); at > 0 {
			s = s[:at]
		}
	}
	return strings.TrimSuffix(s, ".")
}

// How much a Home tab lists.
const (
	mostWaiting = 20
	mostRuns    = 14
	mostAfter   = 6 // reviews, and grants: of each
)

// Home is what stands on a person's Home tab.
type Home struct {
	Reader   policy.Actor
	Waiting  []decisions.Case // that they may decide
	Reviews  []decisions.Case // that others gave alone and they may look at
	Granting []decisions.Case // with an open standing grant of theirs
	Runs     []agent.Run
	Partial  bool // there may be more than these lists hold
}

// Home draws a person's Home tab: what waits for them, what they let through, and their runs.
func (r *Renderer) Home(h Home, at Where) slack.HomeTabViewRequest {
	p := r.pen(at.Lang)
	waiting, runs := h.Waiting, h.Runs
	out := []slack.Block{slack.NewHeaderBlock(plain(p.say("home.waiting"), maxHeading))}
	if len(waiting) == 0 {
		out = append(out, note(p.say("home.nothing")))
	}
	for i := range waiting[:min(len(waiting), mostWaiting)] {
		out = append(out, p.homeCase(&waiting[i])...)
	}
	out = append(out, p.homeMore(len(waiting)-mostWaiting, h.Partial, "countersign approvals list")...)
	out = append(out, p.homeReviews(h)...)
	out = append(out, p.homeGrants(h)...)
	out = append(out, slack.NewHeaderBlock(plain(p.say("home.runs"), maxHeading)))
	if len(runs) == 0 {
		out = append(out, note(p.say("home.noruns")))
	}
	for i := range runs[:min(len(runs), mostRuns)] {
		out = append(out, p.homeRun(&runs[i])...)
	}
	return slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: out}}
}

// homeCase is an approval in short; everything of it stands behind Show.
func (p pen) homeCase(c *decisions.Case) []slack.Block {
	a := &c.Approval
	value := Button{Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Run: a.Run, Step: a.Step}
	said := p.title(c) + "\n" + p.say("home.from", "asker", person(c.Run.Asker)) + " · " + p.say("card.expires", "when", moment(a.ExpiresAt))
	if a.Channel != "" {
		said += " · " + channel(a.Channel)
	}
	return []slack.Block{section(said), actions("decide-"+slacktext.Truncate(a.ID, 200),
		button("approval_show", p.say("button.show"), value).WithStyle(slack.StylePrimary),
		button("approval_reject", p.say("button.reject"), value).WithStyle(slack.StyleDanger))}
}

// homeMore says how many more there are than a list shows, and where all of them stand.
func (p pen) homeMore(n int, partial bool, command string) []slack.Block {
	if n <= 0 {
		return nil
	}
	count := grouped(n)
	if partial {
		count += "+"
	}
	return []slack.Block{note(p.say("home.more", "n", count, "command", code(command)))}
}

// homeReviews are what others approved alone, for the person's look.
func (p pen) homeReviews(h Home) []slack.Block {
	reviews := h.Reviews
	if len(reviews) == 0 {
		return nil
	}
	out := []slack.Block{slack.NewHeaderBlock(plain(p.say("home.reviews"), maxHeading))}
	for i := range reviews[:min(len(reviews), mostAfter)] {
		a := &reviews[i].Approval
		out = append(out, section(p.say("review.title", "who", person(a.Review.Actor), "tool", code(a.Tool), "risk", p.risk(a.Risk), "when", moment(a.Review.OpenedAt))),
			p.reviewButtons("review-"+slacktext.Truncate(a.ID, 200), a))
	}
	return append(out, p.homeMore(len(reviews)-mostAfter, h.Partial, "countersign approvals reviews")...)
}

// homeGrants are the open standing grants that the person gave.
func (p pen) homeGrants(h Home) []slack.Block {
	var out []slack.Block
	n := 0
	for i := range h.Granting {
		a := &h.Granting[i].Approval
		for k := range a.Grants {
			g := &a.Grants[k]
			if g.State != approvals.GrantOpen || g.Giver != h.Reader {
				continue
			}
			if n++; n <= mostAfter {
				out = append(out, section(p.title(&h.Granting[i])+"\n"+p.granted(g)), p.revokeButton("grant-"+g.ID, a, g))
			}
		}
	}
	if n == 0 {
		return nil
	}
	out = append(out, p.homeMore(n-mostAfter, h.Partial, "countersign grants list")...)
	return append([]slack.Block{slack.NewHeaderBlock(plain(p.say("home.grants"), maxHeading))}, out...)
}

func (p pen) homeRun(r *agent.Run) []slack.Block {
	said := p.say("home.run", "state", p.say("state."+string(r.State)), "when", moment(r.CreatedAt), "channel", channel(r.Channel))
	out := []slack.Block{note(said)}
	if words := p.sentence(r.Request, 150); words != "" {
		out = append(out, rich(line(text(words)))...)
	}
	return out
}

// channel links to a channel by its id.
func channel(id string) string {
	for _, r := range id {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return code(id)
		}
	}
	if id == "" {
		return "—"
	}
	return "<#" + id + ">"
}

// safe is from when an uncertain call may be run again.
func (p pen) safe(s *agent.Step) time.Time {
	if p.r.Safe == nil {
		return time.Time{}
	}
	return p.r.Safe(s)
}
