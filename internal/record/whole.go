// Package record is everything that is kept about one run, and its form as JSON:
// what an operator exports to look into, to keep, or to hand over.
package record

import (
	"countersign/agent"
	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/audit"
)

// Whole is one consistent state of a run with everything that belongs to it.
type Whole struct {
	Run        agent.Run
	Turns      []agent.Turn
	Steps      []agent.Step
	Inbox      []agent.Message // all that ever came, in order of arrival
	Approvals  []approvals.Approval
	Deliveries []bot.Delivery
	Audit      []audit.Entry
}
