package store

import "context"

// Pinned gives the contract that a tool of an MCP server was last seen or accepted
// with; ok is false when it was never seen.
func (s *Store) Pinned(ctx context.Context, server, tool string) (hash string, ok bool, err error) {
	var found []string
	ctx, cancel := bound(ctx)
	defer cancel()
	err = s.read.WithContext(ctx).Raw("SELECT hash FROM pins WHERE server = ? AND tool = ?", server, tool).Scan(&found).Error
	if err != nil || len(found) == 0 {
		return "", false, translate(err)
	}
	return found[0], true, nil
}

// Pin stores the contract of a tool, in place of an earlier one.
func (s *Store) Pin(ctx context.Context, server, tool, hash string) error {
	const pin = `INSERT INTO pins (server, tool, hash, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, at = excluded.at`
	_, err := s.exec(ctx, pin, server, tool, hash, micros(s.now()))
	return err
}
