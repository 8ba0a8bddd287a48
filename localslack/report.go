package localslack

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/localslack/blockkit"
)

// Report sums up what the app did, as an operator of Slack would see it.
type Report struct {
	Opens        int            // connections opened
	Connections  int            // still open
	Deliveries   int            // tries, retries included
	Acked        int            // of them
	Unacked      int            // clock ran out
	AckP50       time.Duration  // of the acked
	AckP99       time.Duration  // of the acked
	Posts        map[string]int // messages per channel
	Updates      map[string]int // chat.update per channel
	Limited      int            // answers with 429
	Violations   map[string]int // by kind
	UnusedScopes []string       // of the bot token, not needed so far
	OpenButtons  int            // messages with buttons that could still be pressed
}

// Report looks at everything up to now.
func (s *Server) Report() Report {
	r := Report{Connections: s.Connections(), Posts: map[string]int{}, Updates: map[string]int{}, Violations: map[string]int{}}
	s.reportCalls(&r)
	for _, d := range s.Deliveries() {
		r.Deliveries++
		if d.Result == DeliveryTimeout {
			r.Unacked++
		}
	}
	times := s.AckTimes()
	r.Acked, r.AckP50, r.AckP99 = len(times), percentile(times, 50), percentile(times, 99)
	for _, v := range s.Violations() {
		r.Violations[v.Kind]++
	}
	for _, ch := range s.ws.Channels("") {
		for _, m := range s.ws.Messages(ch.ID, "") {
			if m.User == s.ws.App().UserID && len(blockkit.Elements(m.Blocks)) > 0 {
				r.OpenButtons++
			}
		}
	}
	return r
}

func (s *Server) reportCalls(r *Report) {
	used := map[string]bool{}
	for _, c := range s.Calls("") {
		for scope := range strings.SplitSeq(s.methods[c.Method].scope, "|") {
			used[scope] = true
		}
		switch {
		case c.Status == 429:
			r.Limited++
		case c.Error != "":
		case c.Method == "apps.connections.open":
			r.Opens++
		case c.Method == "chat.postMessage":
			r.Posts[c.Args["channel"]]++
		case c.Method == "chat.update":
			r.Updates[c.Args["channel"]]++
		}
	}
	for _, scope := range s.scopes() {
		// scopes for reading are used by events too, which no call shows
		if !used[scope] && strings.HasSuffix(scope, ":write") {
			r.UnusedScopes = append(r.UnusedScopes, scope)
		}
	}
}

// percentile of a sorted list; 0 for an empty one.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// String is the report on a few lines.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "connections: %d opened, %d open\n", r.Opens, r.Connections)
	fmt.Fprintf(&b, "deliveries: %d, acked %d (p50 %s, p99 %s), not in time %d\n", r.Deliveries, r.Acked, r.AckP50, r.AckP99, r.Unacked)
	fmt.Fprintf(&b, "posts: %s; updates: %s; limited: %d\n", counts(r.Posts), counts(r.Updates), r.Limited)
	fmt.Fprintf(&b, "violations: %s; scopes without use: %s; messages with live buttons: %d\n",
		counts(r.Violations), strings.Join(r.UnusedScopes, " "), r.OpenButtons)
	return b.String()
}

func counts(m map[string]int) string {
	var out []string
	for k, n := range m {
		out = append(out, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(out)
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
