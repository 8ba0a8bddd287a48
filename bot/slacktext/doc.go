// Package slacktext stands between Slack's text and everybody else's: what
// people typed becomes plain text (Reader), what the model wrote becomes
// messages that cannot ping, forge or hide anything (Render), and values that
// a person is asked to countersign are drawn so that nothing in them stays
// unseen (Draw, Inspect, Masker).
//
// The model's Markdown is rendered as rich_text blocks. Slack interprets
// nothing inside their text elements: no mention, no link, no formatting can
// be smuggled in, whereas mrkdwn sections and markdown blocks honour Slack's
// control sequences and can be broken out of. A code block is an element of
// its own there, so that cutting a long answer never leaves a fence open.
package slacktext
