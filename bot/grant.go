package bot

import (
	"context"
	"encoding/json"

	"github.com/slack-go/slack"

	"countersign/approvals/decisions"
	"countersign/bot/card"
	"countersign/bot/socket"
)

// grantForm draws the form that gives a standing grant, or says why there is none.
func (b *Bot) grantForm(ctx context.Context, c *decisions.Case, user string, meta card.ModalMeta) slack.ModalViewRequest {
	lang := b.langOf(ctx, user)
	if b.Card.Grants.Count == 0 || !c.Approval.Grantable() {
		return b.Card.Note(lang, "no_grant", "", c)
	}
	if !b.maySee(ctx, c, user) {
		return b.Card.Note(lang, "only_deciders", "", c)
	}
	v, fits := b.Card.GrantModal(c, lang)
	if !fits {
		return b.Card.Note(lang, "unfit", "", c)
	}
	return carrying(v, meta)
}

// submittedGrant handles the form: what is wrong with it stands at its field.
func (b *Bot) submittedGrant(ctx context.Context, p *pressed, meta card.ModalMeta, c *decisions.Case) socket.Response {
	lang := b.knownLang(p.User.ID)
	granted, errs := b.Card.ReadGrant(c, p.View.State.Values, lang)
	if len(errs) > 0 {
		return formErrors(errs)
	}
	proved := false
	if c.Approval.Current().Requirement.StepUp != "" {
		var refusal string
		if proved, refusal = b.prove(ctx, p); refusal != "" {
			return formErrors(map[string]string{"code": b.Words.In(lang).Say(refusal)})
		}
	}
	input, err := json.Marshal(form{Text: reasonOf(p.View), Proved: proved, Granted: &granted})
	if err != nil {
		return b.formNotSaved(p, err)
	}
	return b.keepForm(ctx, p, meta, Click{
		Approval: meta.Approval, Revision: meta.Revision, Digest: meta.Digest, Input: input,
	})
}

// grant gives a standing grant, or takes one back.
func (b *Bot) grant(ctx context.Context, c Click) (decisions.Outcome, error) {
	var in form
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return decisions.Outcome{Refused: "bad_button"}, nil
	}
	t := attempt(c, "grant")
	t.Text, t.Proved = in.Text, in.Proved
	switch {
	case c.Action == actRevoke:
		return b.Door.Revoke(ctx, t, in.Grant)
	case in.Granted == nil:
		return decisions.Outcome{Refused: "bad_button"}, nil
	}
	return b.Door.Give(ctx, decisions.Giving{Attempt: t, Fields: in.Granted.Fields, Most: in.Granted.Most, For: in.Granted.For})
}

// revoking keeps which grant a press takes back.
func revoking(button card.Button) json.RawMessage {
	if button.Grant == "" {
		return nil
	}
	input, err := json.Marshal(form{Grant: button.Grant})
	if err != nil {
		return nil
	}
	return input
}
