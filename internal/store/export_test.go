package store

import "context"

// MigrateTo brings the schema to a version, for databases of earlier releases.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	p, err := s.provider(ctx)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Tables lists our tables in the order in which they can be filled.
func (s *Store) Tables(ctx context.Context) ([]string, error) { return s.tables(ctx) }
