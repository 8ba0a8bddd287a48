package localslack

import (
	"regexp"
	"slices"
)

func reactionMethods() map[string]method {
	return map[string]method{
		"reactions.add":    {run: (*Server).reactionsAdd, scope: "reactions:write", tier: tier3},
		"reactions.remove": {run: (*Server).reactionsRemove, scope: "reactions:write", tier: tier2},
	}
}

var emojiName = regexp.MustCompile(`^[a-z0-9_'+-]+(::skin-tone-[2-6])?$`)

func (s *Server) reactionsAdd(c call) (reply, error)    { return s.reaction(c, true) }
func (s *Server) reactionsRemove(c call) (reply, error) { return s.reaction(c, false) }

func (s *Server) reaction(c call, add bool) (reply, error) {
	name, err := c.args.need("name")
	if err != nil {
		return nil, err
	}
	return reply{}, s.ws.update(func(ch *change) error {
		room, err := ch.room(c.args.str("channel"))
		if err != nil {
			return err
		}
		return ch.react(reacting{user: ch.w.app.UserID, channel: room.ID, ts: c.args.str("timestamp"), name: name, add: add})
	})
}

// reacting is one press on an emoji.
type reacting struct {
	user, channel, ts, name string
	add                     bool
}

func (c *change) react(r reacting) error {
	m, ok := c.w.message(r.channel, r.ts)
	switch {
	case !emojiName.MatchString(r.name):
		return refuse("invalid_name")
	case !ok, m.Deleted, m.EphemeralTo != "":
		return refuse("message_not_found")
	}
	reactions, err := reacted(m.Reactions, r)
	if err != nil {
		return err
	}
	m.Reactions = reactions
	c.putMessage(m)
	kind := "reaction_added"
	if !r.add {
		kind = "reaction_removed"
	}
	if c.w.channels[r.channel].Has(c.w.app.UserID) {
		c.emit(Event{
			"type": kind, "user": r.user, "reaction": r.name, "item_user": m.User, "event_ts": formatTS(c.w.now()),
			"item": object{"type": "message", "channel": r.channel, "ts": r.ts},
		})
	}
	return nil
}

func reacted(all []Reaction, r reacting) ([]Reaction, error) {
	all = slices.Clone(all)
	i := slices.IndexFunc(all, func(x Reaction) bool { return x.Name == r.name })
	there := i >= 0 && slices.Contains(all[i].Users, r.user)
	switch {
	case r.add && there:
		return nil, refuse("already_reacted")
	case !r.add && !there:
		return nil, refuse("no_reaction")
	case r.add && i < 0:
		return append(all, Reaction{Name: r.name, Users: []string{r.user}}), nil
	case r.add:
		all[i].Users = append(slices.Clone(all[i].Users), r.user)
		return all, nil
	}
	all[i].Users = slices.DeleteFunc(slices.Clone(all[i].Users), func(u string) bool { return u == r.user })
	if len(all[i].Users) == 0 {
		all = slices.Delete(all, i, i+1)
	}
	return all, nil
}
