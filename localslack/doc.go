// Package localslack plays Slack on loopback: the Web API, Socket Mode and the
// people who type and click. The demo shows it in a browser, the tests drive
// it through package slacktest; the bot under test cannot tell it from Slack
// and needs nothing but another base URL.
//
// The parts, from the inside out:
//
//	model.go, workspace.go   what a workspace holds, behind one mutex
//	journal.go, hub.go       every change: appended to a file, told to watchers
//	api*.go, limits.go       the Web API with Slack's error codes and limits
//	socket*.go, deliver.go   Socket Mode: hello, envelopes, acks, retries
//	people.go, interact.go   what people do: post, edit, click, submit
//	faults.go, record.go     what tests break on purpose and what they read back
//	page*.go, web/           the page on which people are played by hand
//	blockkit/                what blocks and views may hold, with Slack's limits
//	slacktest/, tinyapp/     the language of the tests, and the smallest app
//	bolt/                    Slack's own framework against this server
//
// It is a test double with manners, not a product: there is one workspace, one
// app, and everything is held in memory.
package localslack
