package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// grantRow is a row of grants.
type grantRow struct {
	ID           string
	Installation string
	Approval     string
	Channel      string
	ThreadTS     string
	Tool         string
	Contract     string
	Policy       string
	Requirement  string
	AskerTeam    string
	AskerUser    string
	Args         string
	Fields       string
	GiverTeam    string
	GiverUser    string
	Via          string
	Reason       string
	Most         int
	Used         int
	OpenedAt     int64
	EndsAt       int64
	State        string
	Why          string
	ByTeam       string
	ByUser       string
	SettledAt    int64
}

// TableName names the table.
func (grantRow) TableName() string { return "grants" }

func newGrantRow(g *approvals.Grant) (grantRow, error) {
	requirement, err := encode(g.Requirement)
	fields, failed := encode(g.Fields)
	return grantRow{
		ID: g.ID, Installation: g.Installation, Approval: g.Approval, Channel: g.Channel, ThreadTS: g.ThreadTS, Tool: clean(g.Tool),
		Contract: g.Contract, Policy: g.Policy, Requirement: requirement, AskerTeam: g.Asker.Team, AskerUser: g.Asker.User,
		Args: clean(string(g.Args)), Fields: fields, GiverTeam: g.Giver.Team, GiverUser: g.Giver.User, Via: g.Via, Reason: clean(g.Reason),
		Most: g.Most, Used: g.Used, OpenedAt: micros(g.OpenedAt), EndsAt: micros(g.EndsAt), State: string(g.State),
	}, errors.Join(err, failed)
}

func (w *grantRow) grant() (approvals.Grant, error) {
	g := approvals.Grant{
		ID: w.ID, Installation: w.Installation, Approval: w.Approval, Channel: w.Channel, ThreadTS: w.ThreadTS, Tool: w.Tool,
		Contract: w.Contract, Policy: w.Policy, Asker: policy.Actor{Team: w.AskerTeam, User: w.AskerUser}, Args: raw(w.Args),
		Giver: policy.Actor{Team: w.GiverTeam, User: w.GiverUser}, Via: w.Via, Reason: w.Reason, Most: w.Most, Used: w.Used,
		OpenedAt: instant(w.OpenedAt), EndsAt: instant(w.EndsAt), State: approvals.GrantState(w.State), Why: w.Why,
		By: policy.Actor{Team: w.ByTeam, User: w.ByUser}, SettledAt: instant(w.SettledAt),
	}
	return g, errors.Join(decode(w.Requirement, &g.Requirement), decode(w.Fields, &g.Fields))
}

func grantsOf(find *gorm.DB) ([]approvals.Grant, error) {
	var rows []grantRow
	if err := find.Order("opened_at, id").Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]approvals.Grant, len(rows))
	for i := range rows {
		var err error
		if out[i], err = rows[i].grant(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// LiveGrants implements agent.Grants and decisions.Grants.
func (s *Store) LiveGrants(ctx context.Context, tool string) ([]approvals.Grant, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	find := s.read.WithContext(ctx).Where("state = 'open'")
	if tool != "" {
		find = find.Where("tool = ?", tool)
	}
	out, err := grantsOf(find)
	return out, translate(err)
}

// AllGrants lists standing grants, those that are over included, the oldest first.
func (s *Store) AllGrants(ctx context.Context) ([]approvals.Grant, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	out, err := grantsOf(s.read.WithContext(ctx))
	return out, translate(err)
}

// StartGrant implements decisions.Grants.
func (s *Store) StartGrant(ctx context.Context, g approvals.Grant, card int64, wishes []agent.Wish, entries []audit.Entry) error {
	row, err := newGrantRow(&g)
	if err != nil {
		return err
	}
	err = s.transact(ctx, func(t *txn) error {
		if err := t.free(g.Giver); err != nil {
			return err
		}
		if err := t.stands(g.Approval, card); err != nil {
			return err
		}
		if err := insert(t, row); err != nil {
			return err
		}
		return errors.Join(t.wishes(wishes), t.audit(entries))
	})
	if errors.Is(err, errDuplicate) {
		err = errors.Join(agent.ErrSettled, err)
	}
	return err
}

// stands takes an approval's row as it was read, so that nobody changes it before the commit.
func (t *txn) stands(approval string, version int64) error {
	n, err := t.changed("UPDATE approvals SET version = version WHERE id = ? AND version = ?", approval, version)
	if err == nil && n != 1 {
		err = agent.ErrMoved
	}
	return err
}

// Grant implements decisions.Grants.
func (s *Store) Grant(ctx context.Context, id string) (*approvals.Grant, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	all, err := grantsOf(s.read.WithContext(ctx).Where("id = ?", id))
	if err == nil && len(all) == 0 {
		err = agent.ErrNotFound
	}
	if err != nil {
		return nil, translate(err)
	}
	return &all[0], nil
}

// EndGrant implements decisions.Grants.
func (s *Store) EndGrant(ctx context.Context, g approvals.Grant, wishes []agent.Wish, entries []audit.Entry) error {
	return s.transact(ctx, func(t *txn) error {
		n, err := t.changed("UPDATE grants SET state = ?, why = ?, by_team = ?, by_user = ?, settled_at = ? WHERE id = ? AND state = 'open'",
			string(g.State), clean(g.Why), g.By.Team, g.By.User, micros(g.SettledAt), g.ID)
		if err != nil {
			return err
		}
		if n != 1 {
			return agent.ErrSettled
		}
		return errors.Join(t.wishes(wishes), t.audit(entries))
	})
}

// unknown is a call of which nobody knows whether it happened: also while it is made once
// more, when that failed, and when people gave up finding out.
const unknown = `(steps.state = 'uncertain' OR steps.state = 'executing' AND steps.attempts > 1
	OR steps.state = 'failed' AND (steps.code = 'stopped' OR steps.attempts > 1))`

// useGrant is the one statement that keeps two runs from sharing the last use. A grant
// rests while nobody knows what became of a call under it, or of the one on its card.
const useGrant = `UPDATE grants SET used = used + 1, state = CASE WHEN used + 1 >= most THEN 'ended' ELSE state END,
	why = CASE WHEN used + 1 >= most THEN 'count' ELSE why END, settled_at = CASE WHEN used + 1 >= most THEN ? ELSE settled_at END
	WHERE id = ? AND state = 'open' AND used < most AND ends_at > ?
	AND NOT EXISTS (SELECT 1 FROM locks WHERE locks.team = grants.giver_team AND locks.user_id = grants.giver_user)
	AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.grant_id = grants.id AND steps.grant_id <> '' AND ` + unknown + `)
	AND NOT EXISTS (SELECT 1 FROM approvals JOIN steps ON steps.run = approvals.run AND steps.n = approvals.step
		WHERE approvals.id = grants.approval AND ` + unknown + `) RETURNING *`

// useGrants counts one use of each grant, unless it is over or its giver is locked. The
// entries say which grants are used up by that.
func (t *txn) useGrants(f *agent.Fence, uses []agent.GrantUse) ([]audit.Entry, error) {
	var ended []audit.Entry
	for _, u := range uses {
		at := micros(f.Now)
		var rows []grantRow
		if err := t.Raw(useGrant, at, u.Grant, at).Scan(&rows).Error; err != nil {
			return nil, err
		}
		if len(rows) != 1 {
			return nil, &agent.LimitError{Step: u.Step, Limit: agent.ErrGrant}
		}
		if rows[0].State != string(approvals.GrantOpen) {
			data, err := encode(map[string]any{"grant": u.Grant, "why": "count", "used": rows[0].Used})
			if err != nil {
				return nil, err
			}
			ended = append(ended, audit.Entry{At: f.Now, Kind: "grant.ended", Run: f.Run, Step: u.Step, Approval: rows[0].Approval, Via: "worker", Data: data})
		}
	}
	return ended, nil
}

// loadGrants completes approvals with the standing grants that were given on their cards.
func loadGrants(tx *gorm.DB, ids []string, byID map[string]*approvals.Approval) error {
	all, err := grantsOf(tx.Where("approval IN ?", ids))
	for _, g := range all {
		byID[g.Approval].Grants = append(byID[g.Approval].Grants, g)
	}
	return err
}
