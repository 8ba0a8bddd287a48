package store

import (
	"cmp"
	"math"
	"slices"

	"countersign/agent"
	"countersign/approvals"
)

// take makes every other transaction that takes the same name wait for this one's
// end. It must be the same on both databases; SQLite has one writer anyway.
func (t *txn) take(name string) error {
	_, err := t.changed("INSERT INTO mutexes (name, n) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET n = mutexes.n + 1", clean(name))
	return err
}

// limits counts what a change may not have more of than the configuration says. It
// comes before the change's own rows, so that a refusal leaves nothing.
func (t *txn) limits(f *agent.Fence, c *agent.Change) error {
	if err := t.openLimit(c); err != nil {
		return err
	}
	payments := slices.SortedStableFunc(slices.Values(c.Payments), func(a, b agent.Payment) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Step-b.Step) // one order, so that two transactions never wait for each other
	})
	for _, p := range payments {
		if err := t.pay(f, p); err != nil {
			return err
		}
	}
	return nil
}

// openLimit counts the approvals of the asker that wait, with those that the change opens.
func (t *txn) openLimit(c *agent.Change) error {
	if c.MostOpen <= 0 || len(c.Open) == 0 {
		return nil
	}
	who := c.Open[0].Requester
	if err := t.take("open/" + who.Team + "/" + who.User); err != nil {
		return err
	}
	var open int
	err := t.Raw("SELECT count(*) FROM approvals WHERE requester_team = ? AND requester_user = ? AND state = ?",
		who.Team, who.User, string(approvals.Pending)).Scan(&open).Error
	if err != nil || open+len(c.Open) <= c.MostOpen {
		return err
	}
	return &agent.LimitError{Step: c.Open[max(c.MostOpen-open, 0)].Step, Limit: agent.ErrOpenLimit}
}

// spent is what was paid from a budget since an instant.
type spent struct {
	Uses   int
	Amount int64
}

// pay counts one use of a budget, unless it is used up.
func (t *txn) pay(f *agent.Fence, p agent.Payment) error {
	if err := t.take("budget/" + p.Key); err != nil {
		return err
	}
	var s spent
	err := t.Raw("SELECT count(*) AS uses, CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM budget_uses WHERE budget = ? AND at > ?",
		p.Key, micros(f.Now.Add(-p.Within))).Scan(&s).Error
	if err != nil {
		return err
	}
	amount := millionths(p.Amount, math.Ceil)
	if p.Count > 0 && s.Uses >= p.Count || p.Limit > 0 && amount > millionths(p.Limit, math.Floor)-s.Amount {
		return &agent.LimitError{Step: p.Step, Limit: agent.ErrBudget}
	}
	_, err = t.changed("INSERT INTO budget_uses (budget, run, step, amount, at, until) VALUES (?, ?, ?, ?, ?, ?)",
		p.Key, f.Run, p.Step, amount, micros(f.Now), micros(f.Now.Add(p.Within)))
	return err
}

// mostMillionths keeps sums of amounts far from the end of BIGINT.
const mostMillionths = 1 << 52

// millionths is an amount that can be added up exactly. What is too large for that
// is larger than any limit.
func millionths(amount float64, round func(float64) float64) int64 {
	// A thousandth of a millionth is noise of binary fractions, not an amount.
	n := round(math.Round(amount*1e9) / 1e3)
	if !(n < mostMillionths) {
		return mostMillionths
	}
	return int64(n)
}
