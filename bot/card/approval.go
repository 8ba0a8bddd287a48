package card

import (
	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/slacktext"
	"countersign/tools"
)

// Approval draws the card of an approval: what is asked while it is pending, who
// decided what and what came of it afterwards.
func (r *Renderer) Approval(c *decisions.Case, w Where) Message {
	p, a := r.pen(w.Lang), &c.Approval
	m := Message{
		Text: p.say("card.text."+ended(c), "tool", p.toolName(a.Tool)),
		Meta: Meta{Subject: approvals.CardSubject(a.ID, a.Channel), Run: a.Run, Approval: a.ID, Revision: a.Revision, Step: a.Step, Digest: a.Current().Digest},
	}
	m.Text = slacktext.TruncateEscaped(m.Text, maxFallback)
	if a.State == approvals.Pending {
		m.Blocks = p.pending(c, w)
	} else {
		m.Blocks = append(append(p.settled(c), p.askAgain(c)...), p.grants(c)...)
		m.Blocks = append(m.Blocks, p.witness(w)...)
	}
	return m
}

// Hides says that the card cannot show everything that is countersigned: it has
// Show instead of Approve.
func (r *Renderer) Hides(c *decisions.Case) bool {
	now := c.Approval.Current()
	return r.HidesArguments(c) || now.Requirement.StepUp != "" || !r.pen("").effectFits(now.Preview)
}

// HidesArguments says that the card does not show all arguments: an edit, which approves
// what its author left as it was, too, takes that they opened everything.
func (r *Renderer) HidesArguments(c *decisions.Case) bool {
	args, err := r.pen("").arguments(c.Approval.Current().Args)
	return err != nil || r.Guarded(c) || !fits(args)
}

// Guarded says that the values are for people who may decide alone: the tool is
// private, or there are secrets among them.
func (r *Renderer) Guarded(c *decisions.Case) bool {
	if r.private(c.Approval.Tool, &c.Step) {
		return true
	}
	p := r.pen("")
	for _, revision := range c.Approval.Revisions {
		args, err := p.arguments(revision.Args)
		if err != nil {
			continue
		}
		for _, a := range args {
			if a.masked > 0 {
				return true
			}
		}
		if p.effectMasks(revision.Preview) {
			return true
		}
	}
	return false
}

// toolName is a tool's name in plain text.
func (p pen) toolName(tool string) string {
	return slacktext.Truncate(oneLine(slacktext.Draw(tool)), 64)
}

// pending is a card that waits, in the order in which a person judges: who wants
// what, what exactly will run, what it will do, why it may not be the asker's own
// idea, and only then what the model says of it.
func (p pen) pending(c *decisions.Case, w Where) []slack.Block {
	a := &c.Approval
	hides, private := p.r.Hides(c), p.r.private(a.Tool, &c.Step)
	out := []slack.Block{section(p.title(c))}
	if private {
		out = append(out, section(p.privately(c)))
	} else {
		out = append(out, p.asked(c, maxWords)...)
		out = append(out, p.again(c)...)
		out = append(out, p.changes(c)...)
		out = append(out, p.call(c)...)
		if w.Unknown > 0 {
			out = append(out, section(p.say("card.unknown", "n", grouped(w.Unknown))))
		}
		out = append(out, p.effect(a.Current().Preview)...)
		out = append(out, p.read(w.Read)...)
		if !w.Hush {
			out = append(out, p.reason(c)...)
		}
	}
	if hides {
		out = append(out, note(p.hidden(c)))
	}
	out = append(out, p.meanwhile(c, w)...)
	out = append(out, note(p.needs(c, w)), p.buttons(c, hides))
	return out
}

func (p pen) title(c *decisions.Case) string {
	a := &c.Approval
	key := "card.title.pending"
	if a.Revision > 1 {
		key = "card.title.changed"
	}
	return p.say(key, "tool", code(a.Tool), "risk", p.risk(a.Risk))
}

// privately is all that the channel sees of a private call.
func (p pen) privately(c *decisions.Case) string {
	ms, err := members(c.Approval.Current().Args)
	if err != nil {
		return p.say("card.private.unreadable")
	}
	return p.count("card.private", len(ms))
}

// asked are the asker's own words.
func (p pen) asked(c *decisions.Case, limit int) []slack.Block {
	return append([]slack.Block{note(p.say("card.asked", "asker", person(c.Run.Asker)))}, rich(quote(p.prose(c.Run.Request, limit)))...)
}

// again says why the same call is asked about once more.
func (p pen) again(c *decisions.Case) []slack.Block {
	if c.Approval.Why == "" {
		return nil
	}
	out := rich(line(bold(p.say("card.again")), text(" "+p.sentence(c.Approval.Why, maxReason))))
	if n := len(c.Approval.Shapers); n > 0 {
		out = append(out, note(p.say("card.shaped", "who", person(c.Approval.Shapers[n-1]))))
	}
	return out
}

// call is every argument exactly as it will run.
func (p pen) call(c *decisions.Case) []slack.Block {
	args, err := p.arguments(c.Approval.Current().Args)
	if err != nil {
		return []slack.Block{section(p.say("card.unreadable"))}
	}
	out := []slack.RichTextElement{line(bold(p.callHead(&c.Approval)), text(" "), coded(p.toolName(c.Approval.Tool)))}
	switch {
	case len(args) == 0:
		out = append(out, line(text(p.say("card.noargs"))))
	case fits(args):
		out = append(out, p.sheet(args)...)
	default:
		out = append(out, p.sheet(headOf(args, maxArgs, maxArgLines, maxArgCount))...)
		out = append(out, line(text(p.cutNote(&c.Approval))))
	}
	return rich(out...)
}

// callHead says of the arguments below it whether they will run, ran, or did not.
func (p pen) callHead(a *approvals.Approval) string {
	switch {
	case a.State == approvals.Redeemed:
		return p.say("card.ran")
	case a.State != approvals.Pending && a.State != approvals.Approved:
		return p.say("card.notrun")
	case a.Revision > 1:
		return p.say("card.now")
	}
	return p.say("card.call")
}

func (p pen) cutNote(a *approvals.Approval) string {
	if a.State == approvals.Pending {
		return p.say("card.cut")
	}
	return p.say("card.cut.record")
}

// effect is what the call will do, or why that cannot be shown.
func (p pen) effect(v *tools.Preview) []slack.Block {
	if v == nil {
		return []slack.Block{note(p.say("card.effect.none"))}
	}
	out := []slack.RichTextElement{line(bold(p.say("card.effect")), text(" "+p.effectSummary(v)))}
	if v.Untried != "" {
		out = append(out, line(text("⚠️ "+p.sentence(p.untried(v), maxReason))))
	}
	if v.Detail != "" {
		shown, cut := cutLines(p.detail(v), maxEffect, maxEffectLines)
		for _, piece := range pieces(shown) {
			out = append(out, preformatted(piece))
		}
		if cut {
			out = append(out, line(text(p.say("card.cut"))))
		}
	}
	return rich(out...)
}

// untried is why the effect is not shown, in the reader's words where they are ours.
func (p pen) untried(v *tools.Preview) string {
	if v.Untried == tools.TriedTooOften {
		return p.say("card.effect.often")
	}
	return v.Untried
}

func (p pen) effectSummary(v *tools.Preview) string {
	drawn, _ := p.draw(v.Summary)
	return slacktext.Truncate(oneLine(drawn), maxReason)
}

func (p pen) detail(v *tools.Preview) string {
	drawn, _ := p.draw(v.Detail)
	return wrap(drawn)
}

// effectFits says whether the card can show the whole preview.
func (p pen) effectFits(v *tools.Preview) bool {
	if v == nil {
		return true
	}
	_, cut := cutLines(p.detail(v), maxEffect, maxEffectLines)
	drawn, _ := p.draw(v.Summary)
	return !cut && slacktext.Units(drawn) <= maxReason && slacktext.Units(v.Untried) <= maxReason
}

func (p pen) effectMasks(v *tools.Preview) bool {
	if v == nil {
		return false
	}
	_, a := p.draw(v.Summary)
	_, b := p.draw(v.Detail)
	return a+b > 0
}

// read names what reached the run from elsewhere before it made this call.
func (p pen) read(sources []string) []slack.Block {
	if len(sources) == 0 {
		return nil
	}
	shown := make([]string, 0, maxRead)
	for _, s := range sources[:min(len(sources), maxRead)] {
		shown = append(shown, p.sentence(s, 50))
	}
	said := p.list(shown)
	if more := len(sources) - maxRead; more > 0 {
		said += " " + p.say("more", "n", grouped(more))
	}
	return rich(line(bold(p.say("card.read")), text(" "+said)))
}

// reason is the model's own word for it: marked as such, short, and nothing in it
// can look like ours.
func (p pen) reason(c *decisions.Case) []slack.Block {
	why := p.sentence(c.Step.Thought, maxReason)
	if why == "" {
		return nil
	}
	return rich(line(text(p.say("card.reason"))), quote(why))
}

func (p pen) hidden(c *decisions.Case) string {
	switch {
	case p.r.private(c.Approval.Tool, &c.Step):
		return p.say("card.hides.private")
	case p.r.Guarded(c):
		return p.say("card.hides.masked")
	case c.Approval.Current().Requirement.StepUp != "":
		return p.say("card.hides.code")
	}
	return p.say("card.hides.long")
}

// needs says who may decide, who did so far, and until when.
func (p pen) needs(c *decisions.Case, w Where) string {
	a := &c.Approval
	needs := a.Needs()
	said := p.say("card.nobody")
	if len(needs.Approvers) > 0 {
		said = p.say("card.needs", "roles", p.roles(needs.Approvers))
	}
	if needs.Quorum > 1 {
		said += p.say("gap") + p.say("card.quorum", "have", grouped(a.Approvals()), "need", grouped(needs.Quorum))
		if who := approvers(a); len(who) > 0 {
			said += p.say("gap") + p.say("card.sofar", "people", p.people(who))
		}
	}
	if !needs.SelfApproval && len(needs.Approvers) > 0 {
		said += p.say("gap") + p.say("card.noself", "asker", person(c.Run.Asker))
	}
	if a.Escalated.IsZero() && len(needs.Escalate) > 0 {
		said += p.say("gap") + p.say("card.escalate", "roles", p.roles(needs.Escalate))
	}
	if len(needs.BreakGlass) > 0 {
		said += "\n" + p.say("card.glass", "roles", p.roles(needs.BreakGlass))
	}
	if w.Reworded {
		said += "\n" + p.say("card.reworded")
	}
	if n := min(len(w.Gone), maxGone); n > 0 {
		said += "\n" + p.say("card.gone", "people", p.people(w.Gone[:n]))
		if more := len(w.Gone) - n; more > 0 {
			said += " " + p.say("more", "n", grouped(more))
		}
	}
	if w.OnlyAsker {
		said += "\n" + p.say("card.onlyasker")
	}
	return said + "\n" + p.say("card.expires", "when", moment(a.ExpiresAt))
}

func (p pen) buttons(c *decisions.Case, hides bool) slack.Block {
	a := &c.Approval
	value := value(a)
	first := button("approval_approve", p.say("button.approve"), value).WithStyle(slack.StylePrimary)
	if a.Revision > 1 || a.Current().Requirement.Confirm {
		first.WithConfirm(p.confirm("confirm.approve"))
	}
	if hides {
		first = button("approval_show", p.say("button.show"), value).WithStyle(slack.StylePrimary)
	}
	edit, answer := button("approval_edit", p.say("button.edit"), value), button("approval_respond", p.say("button.respond"), value)
	reject := button("approval_reject", p.say("button.reject"), value).WithStyle(slack.StyleDanger)
	claim := button("approval_claim", p.say("button.claim"), value)
	row := []slack.BlockElement{first, edit, reject, answer, claim}
	if c.Fixed() {
		row = []slack.BlockElement{first, reject, claim}
	}
	row = append(row, p.extend(a)...)
	if len(a.Current().Requirement.BreakGlass) > 0 {
		row = append(row, button("glass_break", p.say("button.glass"), value).WithStyle(slack.StyleDanger))
	}
	return actions("decide", row...)
}

// extend offers more time once the end was announced, and while there is any.
func (p pen) extend(a *approvals.Approval) []slack.BlockElement {
	if a.Reminded == 0 || !a.Later(a.ExpiresAt).After(a.ExpiresAt) {
		return nil
	}
	return []slack.BlockElement{button("approval_extend", p.say("button.extend"), value(a))}
}

func (p pen) confirm(key string) *slack.ConfirmationBlockObject {
	return slack.NewConfirmationBlockObject(
		plain(p.say("confirm.title"), 100), plain(p.say(key), 300), plain(p.say("button.approve"), 30), plain(p.say("button.back"), 30))
}
