package localslack

import (
	"encoding/json"
	"maps"
	"strings"

	"countersign/localslack/blockkit"
)

// allMethods is the whole Web API; every other name is unknown_method.
func allMethods() map[string]method {
	all := map[string]method{
		"api.test":              {run: (*Server).apiTest, open: true},
		"auth.test":             {run: (*Server).authTest, tier: special},
		"team.info":             {run: (*Server).teamInfo, scope: "team:read", tier: tier3},
		"blocks.validate":       {run: (*Server).blocksValidate, tier: special},
		"apps.connections.open": {run: (*Server).connectionsOpen, scope: "connections:write", tier: tier3, appToken: true},
	}
	for _, group := range []map[string]method{
		chatMethods(), viewMethods(), userMethods(), conversationMethods(), reactionMethods(), fileMethods(), streamMethods(), sessionMethods(),
	} {
		maps.Copy(all, group)
	}
	return all
}

func (s *Server) apiTest(c call) (reply, error) {
	if code := c.args.str("error"); code != "" {
		return nil, refuse(code)
	}
	return reply{"args": c.args.plain()}, nil
}

func (s *Server) authTest(call) (reply, error) {
	team, app := s.ws.Team(), s.ws.App()
	r := reply{
		"url": s.base + "/", "team": team.Name, "user": app.Name, "team_id": team.ID, "user_id": app.UserID, "bot_id": app.BotID,
		"app_id": app.ID, "is_enterprise_install": false,
	}
	if team.EnterpriseID != "" {
		r["enterprise_id"] = team.EnterpriseID
	}
	return r, nil
}

func (s *Server) teamInfo(call) (reply, error) {
	t := s.ws.Team()
	return reply{"team": object{
		"id": t.ID, "name": t.Name, "domain": t.Domain, "email_domain": "", "url": s.base + "/", "icon": object{"image_default": true},
	}}, nil
}

func (s *Server) blocksValidate(c call) (reply, error) {
	blocks, err1 := c.args.object("blocks")
	view, err2 := c.args.object("view")
	message, err3 := c.args.object("message")
	given := 0
	for _, raw := range []json.RawMessage{blocks, view, message} {
		if raw != nil {
			given++
		}
	}
	if given != 1 || err1 != nil || err2 != nil || err3 != nil {
		return nil, refuse("invalid_arguments", "[ERROR] exactly one of blocks, view, message")
	}
	return reply{}, validate(blocks, view, message)
}

func validate(blocks, view, message json.RawMessage) error {
	code, p := "invalid_blocks", blockkit.Check(blocks, blockkit.Message)
	switch {
	case view != nil:
		where := blockkit.Modal
		if strings.Contains(string(view), `"type":"home"`) {
			where = blockkit.Home
		}
		code, p = "invalid_view", blockkit.CheckView(view, where)
	case message != nil:
		var m struct {
			Blocks json.RawMessage `json:"blocks"`
		}
		if json.Unmarshal(message, &m) != nil {
			return refuse("invalid_message")
		}
		code, p = "invalid_message", blockkit.Check(m.Blocks, blockkit.Message)
	}
	if p == nil {
		return nil
	}
	return refuse(code, p.Messages...)
}

// hotLoop is how many connections a minute no healthy app opens.
const hotLoop = 20

func (s *Server) connectionsOpen(call) (reply, error) {
	if code := s.socket.refusal(); code != "" {
		return nil, refuse(code)
	}
	if s.records.open(s.wall()) > hotLoop {
		s.violate(ViolationHotLoop, "apps.connections.open")
	}
	return reply{"url": "ws" + strings.TrimPrefix(s.base, "http") + "/link/?ticket=" + s.newTicket() + "&app_id=" + s.ws.App().ID}, nil
}
