package manifest

// condition says when a part of the bot is in use.
type condition int

const (
	always condition = iota
	forGroups
	forDirect
)

// part is something that the bot does, with what Slack wants for it.
type part struct {
	needs  condition
	scopes []Item
	events []Item
}

// parts lists what the bot does. What it only reacts to by asking Slack again,
// changed profiles for one, needs no event.
var parts = []part{
	{
		scopes: []Item{{"app_mentions:read", "hear what it is asked"}},
		events: []Item{{"app_mention", "a request"}},
	},
	{
		scopes: []Item{{"chat:write", "post answers, cards and private notes"}},
	},
	{
		scopes: []Item{{"commands", "the slash command: what waits for a person, and help"}},
	},
	{
		scopes: []Item{
			{"channels:history", "answers to its questions, stop and status in threads; what a thread said before"},
			{"groups:history", "the same in private channels"},
		},
		events: []Item{
			{"message.channels", "answers to its questions, stop and status, edited and deleted requests"},
			{"message.groups", "the same in private channels"},
		},
	},
	{
		scopes: []Item{
			{"channels:read", "know where it was invited"},
			{"groups:read", "the same in private channels"},
		},
		events: []Item{
			{"member_joined_channel", "it was invited: it greets"},
			{"channel_left", "it was removed: nothing waits for an answer there"},
			{"group_left", "the same in private channels"},
			{"channel_archive", "the channel was closed"},
			{"group_archive", "the same in private channels"},
			{"channel_id_changed", "the channel has another id, as when it is shared: cards move along"},
		},
	},
	{
		scopes: []Item{
			{"im:write", "private notes: to those who are asked, reminded or decided, and private results"},
			{"im:history", "never post a private note twice when Slack's answer was lost"},
		},
	},
	{
		scopes: []Item{{"users:read", "who asks and who decides: members, not guests or strangers"}},
	},
	{
		needs:  forGroups,
		scopes: []Item{{"usergroups:read", "who holds a role by a user group"}},
		events: []Item{{"subteam_members_changed", "somebody joined or left a user group"}},
	},
	{
		scopes: []Item{{"files:write", "answers that are too long for a message"}},
	},
	{
		needs:  forDirect,
		events: []Item{{"message.im", "a request in a direct conversation"}},
	},
	{
		events: []Item{
			{"tokens_revoked", "the app was removed: it falls silent and says so"},
			{"app_uninstalled", "the same"},
		},
	},
	{
		events: []Item{{"app_home_opened", "the Home tab: what waits for a person, and their runs"}},
	},
}
