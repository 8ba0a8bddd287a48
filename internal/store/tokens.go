package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/api"
	"countersign/internal/audit"
	"countersign/internal/id"
)

// tokenRow is a row of api_tokens.
type tokenRow struct {
	ID        string
	Name      string
	Hash      string
	Scope     string
	Team      string
	UserID    string
	Roles     string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	ExpiresAt int64
	RevokedAt int64
}

// TableName names the table.
func (tokenRow) TableName() string { return "api_tokens" }

func (w *tokenRow) token() api.Token {
	return api.Token{
		Name: w.Name, Scope: api.Scope(w.Scope), Owner: policy.Actor{Team: w.Team, User: w.UserID}, Roles: strings.Fields(w.Roles),
		CreatedAt: instant(w.CreatedAt), ExpiresAt: instant(w.ExpiresAt), RevokedAt: instant(w.RevokedAt),
	}
}

// ErrTokenName says that there is a token of that name, revoked or not: names stand
// in the record and are used once.
var ErrTokenName = errors.New("there is a token of that name")

// AddToken stores a token's hash.
func (s *Store) AddToken(ctx context.Context, t api.Token, hash string, e audit.Entry) error {
	err := s.transact(ctx, func(x *txn) error {
		row := tokenRow{
			ID: id.New("k", x.now), Name: t.Name, Hash: hash, Scope: string(t.Scope), Team: t.Owner.Team, UserID: t.Owner.User,
			Roles: strings.Join(t.Roles, " "), CreatedAt: micros(t.CreatedAt), ExpiresAt: micros(t.ExpiresAt),
		}
		if err := x.Create(&row).Error; err != nil {
			return err
		}
		return x.audit([]audit.Entry{e})
	})
	if errors.Is(err, errDuplicate) {
		return errors.Join(ErrTokenName, err)
	}
	return err
}

// RevokeToken ends a token; agent.ErrNotFound when there is none that stands.
func (s *Store) RevokeToken(ctx context.Context, name string, now time.Time, e audit.Entry) error {
	return s.transact(ctx, func(x *txn) error {
		n, err := x.changed("UPDATE api_tokens SET revoked_at = ? WHERE name = ? AND revoked_at = 0", micros(now), name)
		if err == nil && n == 0 {
			err = agent.ErrNotFound
		}
		if err != nil {
			return err
		}
		return x.audit([]audit.Entry{e})
	})
}

// Tokens lists every token, the newest first.
func (s *Store) Tokens(ctx context.Context) ([]api.Token, error) { return s.tokens(ctx, "1 = 1") }

// TokenOf implements api.Tokens.
func (s *Store) TokenOf(ctx context.Context, hash string) (api.Token, error) {
	return one(s.tokens(ctx, "hash = ?", hash))
}

// TokenNamed finds a token by its name; agent.ErrNotFound when there is none.
func (s *Store) TokenNamed(ctx context.Context, name string) (api.Token, error) {
	return one(s.tokens(ctx, "name = ?", name))
}

func one(found []api.Token, err error) (api.Token, error) {
	if err == nil && len(found) == 0 {
		err = agent.ErrNotFound
	}
	if err != nil {
		return api.Token{}, err
	}
	return found[0], nil
}

func (s *Store) tokens(ctx context.Context, where string, args ...any) ([]api.Token, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []tokenRow
	if err := s.read.WithContext(ctx).Where(where, args...).Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, translate(err)
	}
	out := make([]api.Token, len(rows))
	for i := range rows {
		out[i] = rows[i].token()
	}
	return out, nil
}
