package store

import (
	"context"
	"time"
)

// Sighted implements bot.Sightings. The latest counts, whoever of the replicas saw it.
func (s *Store) Sighted(ctx context.Context, installation, kind string, at time.Time) error {
	_, err := s.exec(ctx, `INSERT INTO sightings (installation, kind, at) VALUES (?, ?, ?)
		ON CONFLICT (installation, kind) DO UPDATE SET at = excluded.at WHERE excluded.at > sightings.at`, installation, clean(kind), micros(at))
	return err
}

// Sightings gives when each kind of what Slack sends was last seen.
func (s *Store) Sightings(ctx context.Context, installation string) (map[string]time.Time, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []struct {
		Kind string
		At   int64
	}
	err := s.read.WithContext(ctx).Raw("SELECT kind, at FROM sightings WHERE installation = ?", installation).Scan(&rows).Error
	out := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		out[r.Kind] = instant(r.At)
	}
	return out, translate(err)
}
