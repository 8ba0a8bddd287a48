package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"countersign/agent"
	"countersign/agent/llm"
)

// Reserve implements agent.Ledger. It reads the runs of the day alone, through an index.
func (s *Store) Reserve(ctx context.Context, f agent.Fence, r agent.Reservation) (over string, busy bool, err error) {
	err = s.transact(ctx, func(t *txn) error {
		if err := t.take("day/" + r.Run.Installation); err != nil {
			return err
		}
		held, err := t.day(&f, &r, 1)
		if err != nil {
			return err
		}
		if over = held.Plus(r.Used).Exceeds(r.Most); over == "" {
			return t.hold(&f, r.Need.Plus(r.Used))
		}
		used, err := t.day(&f, &r, 0)
		busy = err == nil && used.Plus(r.Used).Exceeds(r.Most) == ""
		return err
	})
	return over, busy, err
}

// day adds up what the runs of the day used, and held times what others hold.
func (t *txn) day(f *agent.Fence, r *agent.Reservation, held int) (agent.Day, error) {
	const used = `SELECT
		CAST(COALESCE(SUM(CASE WHEN mine THEN tokens END), 0) AS BIGINT) AS user_tokens, CAST(COALESCE(SUM(CASE WHEN mine THEN cost END), 0) AS BIGINT) AS user_cost,
		CAST(COALESCE(SUM(CASE WHEN here THEN tokens END), 0) AS BIGINT) AS channel_tokens, CAST(COALESCE(SUM(CASE WHEN here THEN cost END), 0) AS BIGINT) AS channel_cost,
		CAST(COALESCE(SUM(tokens), 0) AS BIGINT) AS tokens, CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost
		FROM (SELECT channel = ? AS here, (CASE WHEN owner_user = '' THEN asker_user ELSE owner_user END) = ? AS mine,
			tokens + (CASE WHEN id <> ? AND lease_until > ? THEN held_tokens * ? ELSE 0 END) AS tokens,
			cost + (CASE WHEN id <> ? AND lease_until > ? THEN held_cost * ? ELSE 0 END) AS cost
			FROM runs WHERE installation = ? AND created_at > ?) AS day`
	var sum struct {
		UserTokens, UserCost, ChannelTokens, ChannelCost, Tokens, Cost int64
	}
	now := micros(f.Now)
	err := t.Raw(used, r.Run.Channel, r.Run.Requester().User, f.Run, now, held, f.Run, now, held, r.Run.Installation, micros(r.Since)).Scan(&sum).Error
	return agent.Day{
		User: agent.Amount{Tokens: sum.UserTokens, Cost: sum.UserCost}, Channel: agent.Amount{Tokens: sum.ChannelTokens, Cost: sum.ChannelCost},
		All: agent.Amount{Tokens: sum.Tokens, Cost: sum.Cost},
	}, err
}

// hold writes what the run's next call may use into its row.
func (t *txn) hold(f *agent.Fence, need agent.Amount) error {
	n, err := t.changed("UPDATE runs SET held_tokens = ?, held_cost = ? WHERE id = ? AND lease_owner = ? AND lease_epoch = ?",
		need.Tokens, need.Cost, f.Run, f.Owner, f.Epoch)
	if err == nil && n == 0 {
		return t.fenced(f)
	}
	return err
}

// Share is what one person, channel or tool used.
type Share struct {
	Of   string
	Runs int
	agent.Amount
}

// Costs adds up the runs that began since an instant, by "user", "channel" or "tool",
// the dearest first. A turn's share of a run goes in equal parts to the tools that it
// called, or to "answer" where it called none.
func (s *Store) Costs(ctx context.Context, by string, since time.Time) ([]Share, error) {
	if by == "tool" {
		return s.costsByTool(ctx, since)
	}
	column := "channel"
	if by == "user" {
		column = "CASE WHEN owner_user = '' THEN asker_user ELSE owner_user END"
	}
	var rows []struct {
		Name         string
		Runs         int
		Tokens, Cost int64
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err := s.read.WithContext(ctx).Raw("SELECT "+column+" AS name, count(*) AS runs, CAST(SUM(tokens) AS BIGINT) AS tokens, CAST(SUM(cost) AS BIGINT) AS cost"+
		" FROM runs WHERE created_at > ? GROUP BY 1", micros(since)).Scan(&rows).Error
	out := make([]Share, len(rows))
	for i, r := range rows {
		out[i] = Share{Of: r.Name, Runs: r.Runs, Amount: agent.Amount{Tokens: r.Tokens, Cost: r.Cost}}
	}
	dearest(out)
	return out, translate(err)
}

func dearest(all []Share) {
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Of, b.Of))
	})
}

// usedTurn is a turn with what its run used.
type usedTurn struct {
	Run          string
	N            int
	Usage        string
	Tokens, Cost int64
}

type calledTool struct {
	Run  string
	Turn int
	Tool string
}

func (s *Store) costsByTool(ctx context.Context, since time.Time) ([]Share, error) {
	var turns []usedTurn
	var calls []calledTool
	err := s.snapshot(ctx, func(tx *gorm.DB) error {
		if err := tx.Raw("SELECT t.run, t.n, t.usage, r.tokens, r.cost FROM runs r JOIN turns t ON t.run = r.id WHERE r.created_at > ?", micros(since)).Scan(&turns).Error; err != nil {
			return err
		}
		return tx.Raw("SELECT t.run, t.turn, t.tool FROM runs r JOIN steps t ON t.run = r.id WHERE r.created_at > ?", micros(since)).Scan(&calls).Error
	})
	if err != nil {
		return nil, err
	}
	return shares(turns, calls)
}

// place names a turn.
type place struct {
	run string
	n   int
}

func shares(turns []usedTurn, calls []calledTool) ([]Share, error) {
	tools := map[place][]string{}
	for _, c := range calls {
		at := place{c.Run, c.Turn}
		tools[at] = append(tools[at], c.Tool)
	}
	sums, runs := map[string]*Share{}, map[string]map[string]bool{}
	for _, t := range turns {
		var u llm.Usage
		if err := decode(t.Usage, &u); err != nil {
			return nil, err
		}
		to := tools[place{t.Run, t.N}]
		if len(to) == 0 {
			to = []string{"answer"}
		}
		used := int64(u.Total())
		for _, tool := range to {
			if sums[tool] == nil {
				sums[tool], runs[tool] = &Share{Of: tool}, map[string]bool{}
			}
			sums[tool].Tokens += used / int64(len(to))
			sums[tool].Cost += t.Cost * used / max(t.Tokens, 1) / int64(len(to))
			runs[tool][t.Run] = true
		}
	}
	var out []Share
	for tool, s := range sums {
		s.Runs = len(runs[tool])
		out = append(out, *s)
	}
	dearest(out)
	return out, nil
}
