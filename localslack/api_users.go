package localslack

import (
	"encoding/base64"
	"slices"
	"strconv"
)

func userMethods() map[string]method {
	return map[string]method{
		"users.info":            {run: (*Server).usersInfo, scope: "users:read", tier: tier4},
		"users.list":            {run: (*Server).usersList, scope: "users:read", tier: tier2},
		"bots.info":             {run: (*Server).botsInfo, scope: "users:read", tier: tier3},
		"usergroups.list":       {run: (*Server).usergroupsList, scope: "usergroups:read", tier: tier2},
		"usergroups.users.list": {run: (*Server).usergroupsUsersList, scope: "usergroups:read", tier: tier2},
	}
}

func (s *Server) usersInfo(c call) (reply, error) {
	id, err := c.args.need("user")
	if err != nil {
		return nil, err
	}
	p, ok := s.ws.Person(id)
	switch {
	case !ok:
		return nil, refuse("user_not_found")
	case p.Hidden:
		return nil, refuse("user_not_visible")
	}
	o := s.ws.wirePerson(p)
	if !c.args.flag("include_locale", false) {
		delete(o, "locale")
	}
	return reply{"user": o}, nil
}

func (s *Server) usersList(c call) (reply, error) {
	people, next, err := pageOf(s.ws.People(), c.args, 1000)
	if err != nil {
		return nil, err
	}
	members := []object{}
	for _, p := range people {
		if !p.Hidden {
			members = append(members, s.ws.wirePerson(p))
		}
	}
	return reply{"members": members, "cache_ts": s.cfg.Now().Unix(), "response_metadata": reply{"next_cursor": next}}, nil
}

// pageOf cuts one page out of a list: limit items after the cursor.
func pageOf[T any](all []T, a args, most int) (page []T, next string, err error) {
	from, err := cursorFrom(a, len(all))
	if err != nil {
		return nil, "", err
	}
	limit := a.number("limit", min(100, most))
	if limit < 1 || limit > most {
		return nil, "", refuse("invalid_limit")
	}
	to := min(from+limit, len(all))
	if to < len(all) {
		next = cursorAt(to)
	}
	return all[from:to], next, nil
}

func cursorAt(n int) string { return base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(n))) }

func cursorFrom(a args, size int) (int, error) {
	cursor := a.str("cursor")
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.StdEncoding.DecodeString(cursor)
	if err != nil {
		return 0, refuse("invalid_cursor")
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > size {
		return 0, refuse("invalid_cursor")
	}
	return n, nil
}

func (s *Server) botsInfo(c call) (reply, error) {
	id := c.args.str("bot")
	people := s.ws.People()
	i := slices.IndexFunc(people, func(p Person) bool { return p.IsBot && p.BotID == id && id != "" })
	if i < 0 {
		return nil, refuse("bot_not_found")
	}
	p := people[i]
	return reply{"bot": object{
		"id": p.BotID, "deleted": p.Deleted, "name": p.Name, "updated": 1700000000, "app_id": p.AppID, "user_id": p.ID,
		"icons": object{"image_36": "", "image_48": "", "image_72": ""},
	}}, nil
}

func (s *Server) usergroupsList(c call) (reply, error) {
	out := []object{}
	for _, g := range s.ws.Usergroups() {
		if g.Disabled && !c.args.flag("include_disabled", false) {
			continue
		}
		o := s.ws.wireGroup(g, c.args.flag("include_users", false))
		if !c.args.flag("include_count", false) {
			delete(o, "user_count")
		}
		out = append(out, o)
	}
	return reply{"usergroups": out}, nil
}

func (s *Server) usergroupsUsersList(c call) (reply, error) {
	id, err := c.args.need("usergroup")
	if err != nil {
		return nil, err
	}
	groups := s.ws.Usergroups()
	i := slices.IndexFunc(groups, func(g Usergroup) bool { return g.ID == id })
	if i < 0 || groups[i].Disabled && !c.args.flag("include_disabled", false) {
		return nil, refuse("no_such_subteam")
	}
	users := groups[i].Members
	if users == nil {
		users = []string{}
	}
	return reply{"users": users}, nil
}
