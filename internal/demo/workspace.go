package demo

import "countersign/localslack"

// The people and channels of the demo's workspace.
const (
	team     = "T0DEMO"
	partner  = "T0PARTNER"
	ana      = "U0ANA"
	ben      = "U0BEN"
	chen     = "U0CHEN"
	dora     = "U0DORA"
	olga     = "U0OLGA"
	robot    = "U0COUNTERSIGN"
	ops      = "C0OPS"
	general  = "C0GENERAL"
	approver = "Only people with the role manager may press Approve: Ben and Chen; large refunds take two of finance: Chen and Dora. Ana asks."
)

func workspace(dir string, realModel bool, words map[string]map[string]string) localslack.Config {
	banner := "The model in this demo is scripted: it plays the scenes listed here. Slack is a local stand-in; countersign, its database and its tools are real."
	if realModel {
		banner = "The model is the one that your environment names. Slack is a local stand-in; countersign, its database and its tools are real."
	}
	return localslack.Config{
		Dir: dir, AppToken: appToken, BotToken: botToken,
		App:  localslack.Manifest{App: localslack.App{ID: "A0COUNTERSIGN", BotID: "B0COUNTERSIGN", UserID: robot, Name: "countersign"}, Commands: []string{"/countersign"}},
		Team: localslack.Team{ID: team, Name: "Demo", Domain: "demo"},
		People: []localslack.Person{
			{ID: ana, Name: "ana", RealName: "Ana (team member)", Locale: "en-US"},
			{ID: ben, Name: "ben", RealName: "Ben (manager)", Locale: "en-US"},
			{ID: chen, Name: "chen", RealName: "陈 (finance)", Locale: "zh-CN", TZ: "Asia/Shanghai"},
			{ID: dora, Name: "dora", RealName: "Dora (finance)", Locale: "en-US"},
			{ID: olga, TeamID: partner, Name: "olga", RealName: "Olga (outsider)"},
		},
		Usergroups: []localslack.Usergroup{
			{ID: "S0MANAGERS", Handle: "managers", Name: "Managers", Members: []string{ben, chen}},
			{ID: "S0FINANCE", Handle: "finance", Name: "Finance", Members: []string{chen, dora}},
		},
		Channels: []localslack.Channel{
			{ID: ops, Name: "ops", Kind: localslack.Public, Members: []string{ana, ben, chen, dora, olga, robot}, Topic: approver, ExtShared: true},
			{ID: general, Name: "general", Kind: localslack.Public, Members: []string{ana, ben, chen, dora, robot}},
		},
		Page: &localslack.PageConfig{Banner: banner, Scenes: scenes(), Words: words},
	}
}

// scenes are what the page offers to try.
func scenes() []localslack.Scene {
	try := func(title, text, details string) localslack.Scene {
		return localslack.Scene{Title: title, Text: text, As: ana, Channel: ops, Available: true, Details: details}
	}
	return []localslack.Scene{
		try("1 · Balance and reminder", "@countersign 查张三的余额，不到 100 就发充值提醒", "A query, a comparison, a reminder, an answer."),
		try("2 · An error that heals", "@countersign 统计 transactions.log 的成交总额和均值", "A wrong file name, an error, a reflection, the right name, the answer."),
		try("3 · Delete a document", "@countersign 删除文档 doc_42", "A card appears. Become Ben and approve it; kill the demo while it waits, if you like."),
		try("4 · … and edit it", "@countersign delete document doc_42", "Become Ben, press Edit and make it doc_43."),
		try("5 · … and reject it", "@countersign delete document doc_41", "Become Ben and reject it with a reason, or let it expire."),
		try("6 · A wrong column", "@countersign 按周统计订单数和金额", "A SQL error, a look at the schema, a corrected query."),
		try("7 · UPDATE with preview", "@countersign set order 7 to shipped", "The card shows the row before and after; what runs must match it."),
		try("8 · A model that repeats itself", "@countersign keep looking at order 7 until it is delivered", "Intercepted, warned, halted, handed to a person."),
		try("9 · A refund for two", "@countersign refund 1500 of order 9", "Two people of finance must approve: become Chen, then Dora. Ana and Olga are refused."),
		try("10 · The sandbox", "@countersign try the network and a write outside from the sandbox", "A container refuses both. Without a container engine and the image busybox you see a clear refusal instead."),
	}
}
