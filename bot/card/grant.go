package card

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
)

// Bounds are the most that a standing grant may be for. Zero: none is given.
type Bounds struct {
	Count  int
	Within time.Duration
}

// mostGrants bounds how many standing grants a card lists; the record has them all.
const mostGrants = 5

// grants are the standing grants that were given on this card, and the button that
// gives another.
func (p pen) grants(c *decisions.Case) []slack.Block {
	a := &c.Approval
	var out []slack.Block
	all := a.Grants[max(0, len(a.Grants)-mostGrants):]
	for i := range all {
		g := &all[i]
		out = append(out, section(p.granted(g)))
		if g.State == approvals.GrantOpen {
			out = append(out, p.revokeButton(fmt.Sprintf("grant-%d", i), a, g))
		}
	}
	if p.r.Grants.Count > 0 && a.Grantable() {
		out = append(out, actions("grant", button("grant_open", p.say("button.grant"), value(a))))
	}
	return out
}

func (p pen) revokeButton(block string, a *approvals.Approval, g *approvals.Grant) slack.Block {
	v := value(a)
	v.Grant = g.ID
	return actions(block, button("grant_revoke", p.say("button.revoke"), v).WithStyle(slack.StyleDanger))
}

// granted says what a standing grant is for, and what became of it.
func (p pen) granted(g *approvals.Grant) string {
	said := p.say("grant.line", "who", person(g.Giver), "asker", person(g.Asker), "used", grouped(g.Used), "most", grouped(g.Most), "when", moment(g.EndsAt))
	if len(g.Fields) == 0 {
		said += p.say("gap") + p.say("grant.all")
	} else {
		names := make([]string, len(g.Fields))
		for i, f := range g.Fields {
			names[i] = code(f)
		}
		said += p.say("gap") + p.say("grant.fields", "names", p.list(names))
	}
	switch {
	case g.State == approvals.GrantRevoked && g.By.Zero():
		said += "\n" + p.say("grant.operator", "when", moment(g.SettledAt))
	case g.State == approvals.GrantRevoked:
		said += "\n" + p.say("grant.revoked", "who", person(g.By), "when", moment(g.SettledAt))
	case g.State == approvals.GrantEnded:
		said += "\n" + p.say("grant.ended", "when", moment(g.SettledAt))
	case g.State == approvals.GrantVoid:
		said += "\n" + p.say("grant.void", "when", moment(g.SettledAt))
	}
	return said
}

// The names of the blocks of the form that gives a standing grant.
const (
	grantFields = "fields"
	grantCount  = "count"
	grantFor    = "for"
)

// mostChecks is how many boxes Slack lets one group have.
const mostChecks = 10

// GrantModal asks what a standing grant is for: which arguments must be equal, how
// many calls, how long. It shows the whole call; false when that fits no modal.
func (r *Renderer) GrantModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	p := r.pen(lang)
	blocks, ok := p.shown(c)
	if !ok {
		return slack.ModalViewRequest{}, false
	}
	blocks = append(blocks, section(p.say("grant.intro", "asker", person(c.Run.Asker), "tool", code(c.Approval.Tool))))
	blocks = append(blocks, p.grantFieldBoxes(c)...)
	count := slack.NewPlainTextInputBlockElement(nil, "value").WithMaxLength(6)
	count.InitialValue = strconv.Itoa(min(5, r.Grants.Count))
	blocks = append(blocks, slack.NewInputBlock(grantCount, plain(p.say("grant.count"), maxLabel), plain(p.say("grant.count.hint", "most", grouped(r.Grants.Count)), maxLabel), count))
	var spans []*slack.OptionBlockObject
	for _, d := range r.spans() {
		spans = append(spans, slack.NewOptionBlockObject(d.String(), plain(p.took(d), maxButton), nil))
	}
	choose := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, nil, "value", spans...)
	choose.InitialOption = spans[0]
	blocks = append(blocks, slack.NewInputBlock(grantFor, plain(p.say("grant.for"), maxLabel), nil, choose),
		p.reasonInput("grant.reason", "grant.reason.hint", true))
	blocks = append(blocks, p.codeInput(c.Approval.Current().Requirement.StepUp != "")...)
	v := p.modal("modal.grant", "button.grant.give", "grant_modal", blocks...)
	v.PrivateMetadata = about(c)
	return v, viewFits(v)
}

// spans are the times that a person chooses from, the shortest first.
func (r *Renderer) spans() []time.Duration {
	var out []time.Duration
	for _, d := range []time.Duration{15 * time.Minute, time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if d < r.Grants.Within {
			out = append(out, d)
		}
	}
	return append(out, r.Grants.Within)
}

// grantFieldBoxes let a person say which arguments must be equal: all of them, until
// boxes are cleared. Where a group of boxes cannot show them, all must be equal.
func (p pen) grantFieldBoxes(c *decisions.Case) []slack.Block {
	args, err := p.arguments(c.Approval.Current().Args)
	long := slices.ContainsFunc(args, func(a argument) bool { return len(a.name) > maxButton || !simpleName.MatchString(a.name) })
	if err != nil || len(args) < 2 || len(args) > mostChecks || long {
		return []slack.Block{note(p.say("grant.all"))}
	}
	boxes := slack.NewCheckboxGroupsBlockElement("value")
	for _, a := range args {
		o := slack.NewOptionBlockObject(a.name, plain(a.label, maxButton), nil)
		boxes.Options, boxes.InitialOptions = append(boxes.Options, o), append(boxes.InitialOptions, o)
	}
	return []slack.Block{slack.NewInputBlock(grantFields, plain(p.say("grant.equal"), maxLabel), plain(p.say("grant.equal.hint"), maxLabel), boxes)}
}

// Granted is what somebody typed into the form of a standing grant.
type Granted struct {
	Fields []string      `json:"fields,omitempty"` // none: all of them
	Most   int           `json:"most"`
	For    time.Duration `json:"for"`
}

// ReadGrant reads the form; errs are by block id. What was checked is all when all
// boxes are.
func (r *Renderer) ReadGrant(c *decisions.Case, values map[string]map[string]slack.BlockAction, lang string) (g Granted, errs map[string]string) {
	p := r.pen(lang)
	errs = map[string]string{}
	var err error
	if g.Most, err = strconv.Atoi(strings.TrimSpace(values[grantCount]["value"].Value)); err != nil || g.Most < 1 || g.Most > r.Grants.Count {
		errs[grantCount] = p.say("grant.count.hint", "most", grouped(r.Grants.Count))
	}
	if g.For, err = time.ParseDuration(values[grantFor]["value"].SelectedOption.Value); err != nil || !slices.Contains(r.spans(), g.For) {
		errs[grantFor] = p.say("edit.badchoice")
	}
	box, asked := values[grantFields]["value"]
	if !asked {
		return g, errs
	}
	for _, o := range box.SelectedOptions {
		g.Fields = append(g.Fields, o.Value)
	}
	args, err := members(c.Approval.Current().Args)
	if len(g.Fields) == 0 {
		errs[grantFields] = p.say("grant_fields")
	}
	if err == nil && len(g.Fields) == len(args) {
		g.Fields = nil // and no further argument either
	}
	return g, errs
}
