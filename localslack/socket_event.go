package localslack

import (
	"encoding/json"
	"slices"
	"strings"
)

// outEvent is an event on its way to the app. It is kept in the journal until
// it is acked or given up, since Slack does not forget it either when the
// machine of the app dies.
type outEvent struct {
	ID      string          `json:"id"`
	Inner   string          `json:"inner"`
	Payload json.RawMessage `json:"payload"`
}

func (k *socket) subscribed(e Event) bool {
	return slices.Contains(k.s.subscriptions(), eventKinds(e))
}

// event sends an event. It is called with the workspace locked and does not
// block.
func (k *socket) event(o outEvent) {
	k.send(envelope{kind: "events_api", inner: o.Inner, eventID: o.ID, payload: o.Payload})
}

// restore sends what an earlier process left undelivered, as a next try, once
// somebody is there to take it.
func (k *socket) restore() {
	k.s.ws.mu.Lock()
	left := k.s.ws.unsent
	k.s.ws.unsent = nil
	k.s.ws.mu.Unlock()
	for _, o := range left {
		k.forward(envelope{kind: "events_api", inner: o.Inner, eventID: o.ID, payload: o.Payload, attempt: 1, reason: "timeout"})
	}
}

// forget notes in the journal that an event needs no more tries.
func (k *socket) forget(env envelope) {
	if env.eventID == "" || k.s.ws.journal == nil {
		return
	}
	err := k.s.ws.update(func(c *change) error {
		c.save(kindEventDone, env.eventID)
		return nil
	})
	if err != nil {
		k.s.cfg.Logger.Error("local Slack", "error", err)
	}
}

// outerEvent is the payload of an events_api envelope.
func (w *Workspace) outerEvent(e Event) outEvent {
	inner, _ := e["type"].(string)
	channel, _ := e["channel"].(string)
	id := "Ev" + strings.ToUpper(secret()[:16])         // never the same again, not even after a restart
	e["future_field"] = object{"nested": []any{1, nil}} // apps must ignore what they do not know
	raw := marshal(object{
		"token": "legacy", "team_id": w.team.ID, "context_team_id": w.team.ID, "context_enterprise_id": nil, "api_app_id": w.app.ID,
		"event": e, "type": "event_callback", "event_id": id, "event_time": w.now().Unix(),
		"authorizations": []object{{
			"enterprise_id": nil, "team_id": w.team.ID, "user_id": w.app.UserID, "is_bot": true, "is_enterprise_install": false,
		}},
		"is_ext_shared_channel": w.channels[channel].ExtShared, "event_context": "4-" + id,
	})
	return outEvent{ID: id, Inner: inner, Payload: raw}
}
