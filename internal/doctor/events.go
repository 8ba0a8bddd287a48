package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// everyday are what Slack sends wherever a bot is in use: where it lies in the app's
// settings, and how to make one happen. The other events are rare.
var everyday = []struct{ kind, where, how string }{
	{"app_mention", subscriptions, "mention the bot in a channel that it is in"},
	{"message.channels", subscriptions, "write anything in a public channel that the bot is in"},
	{"message.im", subscriptions, "write to the bot directly (Apps, in Slack's sidebar)"},
	{"app_home_opened", subscriptions, "open the bot's Home tab (App Home, Home Tab: on)"},
	{"interactivity", "Interactivity & Shortcuts, Interactivity: on", "press a button of a card"},
}

// subscriptions is where the app's events are.
const subscriptions = "Event Subscriptions, Subscribe to bot events"

// events tells which kinds of what the manifest subscribes to never arrived. Slack tells
// nobody which subscriptions an app has, so this is what the processes saw.
func (e *examiner) events(ctx context.Context) {
	if !e.current || e.token.Self.Team == "" || len(e.Events) == 0 {
		return
	}
	db, err := e.Database(ctx)
	if err != nil {
		return // it was there a moment ago, and doctor is asked again
	}
	defer e.closed(db)
	seen, err := db.Sightings(ctx, e.token.Self.Team)
	switch {
	case err != nil:
		e.warn("slack", "Look at the database's own log.", "Which events arrived cannot be looked at: %s", sentence(err))
		return
	case len(seen) == 0:
		e.ok("slack", "No event has arrived yet; what Slack never sends shows here once the bot has been in use.")
		return
	}
	usual := map[string]bool{}
	for _, k := range everyday {
		usual[k.kind] = true
		if wanted := k.kind == "interactivity" || slices.Contains(e.Events, k.kind); wanted && seen[k.kind].IsZero() {
			e.warn("slack", fmt.Sprintf("Look whether the app has it (%s; `countersign manifest` lists all), then %s, and ask again.", k.where, k.how),
				"%s has never arrived from Slack.", k.kind)
		}
	}
	e.ok("slack", "Arrived so far: %s.", e.arrived(seen))
	rare := slices.DeleteFunc(slices.Clone(e.Events), func(kind string) bool { return usual[kind] || !seen[kind].IsZero() })
	if len(rare) > 0 {
		e.ok("slack", "Not seen yet, which need not mean anything, because they are rare: %s.", strings.Join(rare, ", "))
	}
}

// arrived lists what was seen and how long ago, to the hour as it is kept.
func (e *examiner) arrived(seen map[string]time.Time) string {
	kinds := make([]string, 0, len(seen))
	for kind, at := range seen {
		ago := "within the last two hours"
		if hours := int(e.Now().Sub(at).Hours()); hours >= 48 {
			ago = fmt.Sprintf("%d days ago", hours/24)
		} else if hours >= 2 {
			ago = fmt.Sprintf("%d hours ago", hours)
		}
		kinds = append(kinds, kind+" "+ago)
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}
