package localslack

import (
	"encoding/json"
	"maps"
)

// object is a JSON object on its way out.
type object = map[string]any

// wirePerson is the full user object.
func (w *Workspace) wirePerson(p Person) object {
	locale, tz := p.Locale, p.TZ
	if locale == "" {
		locale = "en-US"
	}
	if tz == "" {
		tz = "Etc/UTC"
	}
	o := object{
		"id": p.ID, "team_id": p.TeamID, "name": p.Name, "deleted": p.Deleted, "real_name": p.RealName,
		"tz": tz, "tz_label": tz, "tz_offset": 0, "locale": locale, "is_bot": p.IsBot, "is_app_user": false, "updated": 1700000000,
		"profile": object{
			"real_name": p.RealName, "display_name": p.Name, "real_name_normalized": p.RealName,
			"display_name_normalized": p.Name, "team": p.TeamID, "status_text": "", "avatar_hash": "0",
		},
	}
	if !p.Deleted {
		maps.Copy(o, object{
			"is_admin": false, "is_owner": false, "is_primary_owner": false,
			"is_restricted": p.IsRestricted, "is_ultra_restricted": p.IsUltraRestricted,
		})
	}
	if p.IsStranger {
		o["is_stranger"] = true
	}
	if p.EnterpriseID != "" {
		o["enterprise_user"] = object{"id": p.ID, "enterprise_id": p.EnterpriseID, "teams": []string{p.TeamID}}
	}
	if p.IsBot {
		profile, _ := o["profile"].(object)
		profile["bot_id"], profile["api_app_id"] = p.BotID, p.AppID
	}
	return o
}

// wireMessage is a message as history, events and payloads show it. Metadata's
// payload is there only on demand.
func (w *Workspace) wireMessage(m Message, allMetadata bool) object {
	if m.Deleted {
		return w.wireTombstone(m)
	}
	o := object{"type": "message", "ts": m.TS, "user": m.User, "text": m.Text}
	if m.Subtype != "" {
		o["subtype"] = m.Subtype
	}
	if m.ClientMsgID != "" {
		o["client_msg_id"] = m.ClientMsgID
	}
	if p, ok := w.people[m.User]; ok {
		o["team"] = p.TeamID
		if p.TeamID != w.team.ID {
			o["user_team"], o["source_team"] = p.TeamID, p.TeamID
		}
	}
	if m.BotID != "" {
		o["bot_id"], o["app_id"], o["bot_profile"] = m.BotID, m.AppID, w.botProfile(m)
	}
	putRaw(o, "blocks", m.Blocks)
	putRaw(o, "attachments", m.Attachments)
	w.wireThread(o, m)
	if m.Metadata != nil {
		meta := object{"event_type": m.Metadata.EventType}
		if allMetadata {
			meta["event_payload"] = m.Metadata.EventPayload
		}
		o["metadata"] = meta
	}
	if m.Edited != nil {
		o["edited"] = m.Edited
	}
	if len(m.Files) > 0 {
		o["files"], o["upload"] = w.wireFiles(m.Files), false
	}
	if len(m.Reactions) > 0 {
		o["reactions"] = wireReactions(m.Reactions)
	}
	if m.Streaming != "" {
		o["streaming_state"] = m.Streaming
	}
	return o
}

// slackbot is who writes in the place of a message that is gone.
const slackbot = "USLACKBOT"

// wireTombstone is what stands where a message with replies was deleted.
func (w *Workspace) wireTombstone(m Message) object {
	o := object{"type": "message", "subtype": "tombstone", "text": "This message was deleted.", "user": slackbot, "hidden": true, "ts": m.TS}
	w.wireThread(o, m)
	return o
}

func (w *Workspace) wireThread(o object, m Message) {
	if m.IsReply() {
		o["thread_ts"] = m.ThreadTS
		if root, ok := w.message(m.Channel, m.ThreadTS); ok {
			o["parent_user_id"] = root.User
			if root.Deleted {
				o["parent_user_id"] = slackbot
			}
		}
		return
	}
	var replies []Message
	users := map[string]bool{}
	var who []string
	for _, r := range w.messages[m.Channel] {
		if r.IsReply() && r.ThreadTS == m.TS && !r.Deleted && r.EphemeralTo == "" {
			replies = append(replies, r)
			if !users[r.User] {
				users[r.User] = true
				who = append(who, r.User)
			}
		}
	}
	if len(replies) == 0 {
		return
	}
	maps.Copy(o, object{
		"thread_ts": m.TS, "reply_count": len(replies), "reply_users_count": len(who), "reply_users": who,
		"latest_reply": replies[len(replies)-1].TS, "is_locked": false, "subscribed": false,
	})
}

func (w *Workspace) botProfile(m Message) object {
	name := w.people[m.User].Name
	return object{
		"id": m.BotID, "app_id": m.AppID, "name": name, "deleted": false, "updated": 1700000000,
		"team_id": w.team.ID, "icons": object{"image_36": "", "image_48": "", "image_72": ""},
	}
}

func wireReactions(all []Reaction) []object {
	var out []object
	for _, r := range all {
		out = append(out, object{"name": r.Name, "users": r.Users, "count": len(r.Users)})
	}
	return out
}

func (w *Workspace) wireFiles(ids []string) []object {
	var out []object
	for _, id := range ids {
		out = append(out, w.wireFile(w.files[id]))
	}
	return out
}

// wireChannel is the conversation object as the bot sees it.
func (w *Workspace) wireChannel(c Channel) object {
	return object{
		"id": c.ID, "name": c.Name, "name_normalized": c.Name, "is_channel": c.Kind == Public, "is_group": c.Kind == Private,
		"is_im": c.Kind == Direct, "is_mpim": c.Kind == Multi, "is_private": c.Kind != Public, "is_archived": c.Archived,
		"is_general": false, "is_shared": c.ExtShared, "is_ext_shared": c.ExtShared, "is_org_shared": false,
		"is_pending_ext_shared": false, "is_member": c.Has(w.app.UserID), "created": 1700000000, "creator": "U0",
		"context_team_id": w.team.ID, "topic": object{"value": c.Topic, "creator": "", "last_set": 0},
		"purpose": object{"value": "", "creator": "", "last_set": 0},
	}
}

func (w *Workspace) wireGroup(g Usergroup, users bool) object {
	o := object{
		"id": g.ID, "team_id": w.team.ID, "is_usergroup": true, "is_subteam": true, "name": g.Name, "handle": g.Handle,
		"is_external": false, "date_create": 1700000000, "date_update": g.Updated, "date_delete": 0, "user_count": len(g.Members),
	}
	if g.Disabled {
		o["date_delete"] = g.Updated
	}
	if users {
		o["users"] = g.Members
	}
	return o
}

func putRaw(o object, key string, raw json.RawMessage) {
	if len(raw) > 0 {
		o[key] = raw
	}
}

// channelType is the channel_type of a message event.
func channelType(c Channel) string { return string(c.Kind) }
