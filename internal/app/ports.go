package app

import (
	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/internal/queue"
)

// Ports is everything that the parts want of the database while they run.
type Ports interface {
	agent.Store
	decisions.Store
	decisions.Care
	decisions.Factors
	decisions.Reviews
	decisions.Grants
	bot.Outbox
	bot.Clicks
	bot.Places
	bot.Views
	bot.Marks
	bot.After
	bot.Sightings
	queue.Leases
}
