package localslack

import (
	"regexp"
	"slices"
	"strings"
)

func conversationMethods() map[string]method {
	return map[string]method{
		"conversations.info":    {run: (*Server).conversationsInfo, scope: "channels:read|groups:read|im:read", tier: tier3},
		"conversations.list":    {run: (*Server).conversationsList, scope: "channels:read|groups:read|im:read", tier: tier2},
		"conversations.members": {run: (*Server).conversationsMembers, scope: "channels:read|groups:read|im:read", tier: tier4},
		"conversations.history": {run: (*Server).conversationsHistory, tier: tier3},
		"conversations.replies": {run: (*Server).conversationsReplies, tier: tier3},
		"users.conversations":   {run: (*Server).usersConversations, scope: "channels:read|groups:read|im:read", tier: tier3},
		"conversations.open":    {run: (*Server).conversationsOpen, scope: "im:write", tier: tier3},
		"conversations.join":    {run: (*Server).conversationsJoin, scope: "channels:join", tier: tier3},
	}
}

// seen finds a channel that the bot may know of: public or its own.
func (s *Server) seen(c call) (Channel, error) {
	id, err := c.args.need("channel")
	if err != nil {
		return Channel{}, err
	}
	ch, ok := s.ws.Channel(id)
	if !ok || ch.Kind != Public && !ch.Has(s.ws.App().UserID) {
		return ch, refuse("channel_not_found")
	}
	return ch, nil
}

func (s *Server) conversationsInfo(c call) (reply, error) {
	ch, err := s.seen(c)
	if err != nil {
		return nil, err
	}
	if err := s.needScope(scopePrefix(ch.Kind) + ":read"); err != nil && ch.Kind != Direct {
		return nil, err
	}
	o := s.ws.wireChannel(ch)
	if c.args.flag("include_num_members", false) {
		o["num_members"] = len(ch.Members)
	}
	return reply{"channel": o}, nil
}

// scopePrefix is the family of scopes for a kind of channel.
func scopePrefix(k ChannelKind) string {
	switch k {
	case Private:
		return "groups"
	case Direct:
		return "im"
	case Multi:
		return "mpim"
	}
	return "channels"
}

var typeNames = map[ChannelKind]string{Public: "public_channel", Private: "private_channel", Direct: "im", Multi: "mpim"}

func (s *Server) conversationsList(c call) (reply, error) {
	return s.listConversations(c, func(Channel) bool { return true })
}

// usersConversations lists the channels that the bot, or somebody, is in.
func (s *Server) usersConversations(c call) (reply, error) {
	user := c.args.str("user")
	if user == "" {
		user = s.ws.App().UserID
	}
	return s.listConversations(c, func(ch Channel) bool { return ch.Has(user) })
}

func (s *Server) listConversations(c call, want func(Channel) bool) (reply, error) {
	types := c.args.list("types")
	if len(types) == 0 {
		types = []string{"public_channel"}
	}
	all := slices.DeleteFunc(s.ws.Channels(s.ws.App().UserID), func(ch Channel) bool {
		return !want(ch) || !slices.Contains(types, typeNames[ch.Kind]) || ch.Archived && c.args.flag("exclude_archived", false)
	})
	page, next, err := pageOf(all, c.args, 1000)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, ch := range page {
		o := s.ws.wireChannel(ch)
		o["num_members"] = len(ch.Members)
		out = append(out, o)
	}
	return reply{"channels": out, "response_metadata": reply{"next_cursor": next}}, nil
}

func (s *Server) conversationsMembers(c call) (reply, error) {
	ch, err := s.seen(c)
	if err != nil {
		return nil, err
	}
	members, next, err := pageOf(ch.Members, c.args, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"members": slices.Concat([]string{}, members), "response_metadata": reply{"next_cursor": next}}, nil
}

func (s *Server) conversationsOpen(c call) (reply, error) {
	users := c.args.list("users")
	if len(users) == 0 {
		return nil, refuse("users_list_not_supplied")
	}
	if len(users) > 1 {
		return nil, refuse("not_enough_users") // conversations of several are not played
	}
	var ch Channel
	err := s.ws.update(func(x *change) error {
		p, ok := x.w.people[users[0]]
		switch {
		case !ok:
			return refuse("user_not_found")
		case p.Deleted:
			return refuse("user_disabled")
		}
		ch = x.direct(p.ID)
		return nil
	})
	return reply{"channel": object{"id": ch.ID}, "no_op": false, "already_open": false}, err
}

func (s *Server) conversationsJoin(c call) (reply, error) {
	ch, err := s.seen(c)
	switch {
	case err != nil:
		return nil, err
	case ch.Kind != Public:
		return nil, refuse("method_not_supported_for_channel_type")
	case ch.Archived:
		return nil, refuse("is_archived")
	}
	if err := s.join(s.ws.App().UserID, ch.ID, ""); err != nil {
		return nil, err
	}
	ch, _ = s.ws.Channel(ch.ID)
	return reply{"channel": s.ws.wireChannel(ch)}, nil
}

// readable finds a channel whose messages the bot may read.
func (s *Server) readable(c call) (Channel, error) {
	ch, err := s.seen(c)
	if err != nil {
		return ch, err
	}
	if !ch.Has(s.ws.App().UserID) {
		return ch, refuse("not_in_channel")
	}
	return ch, s.needScope(scopePrefix(ch.Kind) + ":history")
}

// historyLimit is the number of messages asked for.
func (s *Server) historyLimit(a args) (int, error) {
	most := 999
	if s.cfg.Limits.RestrictedHistory {
		most = 15
	}
	for _, end := range []string{"latest", "oldest"} {
		if ts := a.str(end); ts != "" && !timestamp.MatchString(ts) {
			return 0, refuse("invalid_ts_" + end)
		}
	}
	n := a.number("limit", min(100, most))
	if n < 1 || n > 1000 {
		return 0, refuse("invalid_limit")
	}
	return min(n, most), nil
}

var timestamp = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// between keeps what lies in the asked time.
func between(all []Message, a args) []Message {
	oldest, latest, inclusive := a.str("oldest"), a.str("latest"), a.flag("inclusive", false)
	return slices.DeleteFunc(all, func(m Message) bool {
		low, high := strings.Compare(m.TS, oldest), strings.Compare(m.TS, latest)
		tooOld := oldest != "" && oldest != "0" && (low < 0 || low == 0 && !inclusive)
		tooNew := latest != "" && (high > 0 || high == 0 && !inclusive)
		return tooOld || tooNew
	})
}

func (s *Server) conversationsHistory(c call) (reply, error) {
	ch, err := s.readable(c)
	if err != nil {
		return nil, err
	}
	limit, err := s.historyLimit(c.args)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(s.ws.Messages(ch.ID, ""), func(m Message) bool {
		return m.EphemeralTo != "" || m.IsReply() && !m.Broadcast
	})
	all = between(all, c.args)
	slices.Reverse(all)
	return s.pageOfMessages(all, limit, c.args)
}

func (s *Server) conversationsReplies(c call) (reply, error) {
	ch, err := s.readable(c)
	if err != nil {
		return nil, err
	}
	ts, err := c.args.need("ts")
	if err != nil {
		return nil, err
	}
	limit, err := s.historyLimit(c.args)
	if err != nil {
		return nil, err
	}
	m, ok := s.ws.Message(ch.ID, ts)
	if !ok || m.EphemeralTo != "" {
		return nil, refuse("thread_not_found")
	}
	all := []Message{m}
	if !m.IsReply() {
		all = slices.DeleteFunc(s.ws.Thread(ch.ID, ts, ""), func(m Message) bool { return m.EphemeralTo != "" })
	}
	if len(all) == 0 {
		return nil, refuse("thread_not_found")
	}
	if m.Deleted && !m.IsReply() {
		all = slices.Insert(all, 0, m) // its tombstone
	}
	root := all[:1]
	rest := between(slices.Clone(all[1:]), c.args)
	return s.pageOfMessages(slices.Concat(root, rest), limit, c.args)
}

func (s *Server) pageOfMessages(all []Message, limit int, a args) (reply, error) {
	from, err := cursorFrom(a, len(all))
	if err != nil {
		return nil, err
	}
	page := all[from:min(from+limit, len(all))]
	s.ws.mu.Lock()
	defer s.ws.mu.Unlock()
	out := []object{}
	for _, m := range page {
		out = append(out, s.ws.wireMessage(m, a.flag("include_all_metadata", false)))
	}
	more := from+len(page) < len(all)
	r := reply{"messages": out, "has_more": more}
	if more {
		r["response_metadata"] = reply{"next_cursor": cursorAt(from + len(page))}
	}
	return r, nil
}
