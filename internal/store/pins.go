package store

import (
	"context"
	"time"

	"countersign/agent"
	"countersign/internal/audit"
)

// Pin is what a tool of an MCP server promised when it was first seen, or last
// accepted, and what the server offers in its place.
type Pin struct {
	Server, Tool string
	Contract     string // the accepted words; empty: kept by an older version, as a hash alone
	Offered      string // the words that nobody accepted yet
	OfferedHash  string // empty: nothing is offered, the tool is as it was accepted
	At           int64  // microseconds; when it was accepted
}

// Since is when the contract was accepted.
func (p *Pin) Since() time.Time { return instant(p.At) }

// Seen takes down the contract with which a server lists a tool, and gives the hash of
// the accepted one: the first that is seen is accepted.
func (s *Store) Seen(ctx context.Context, server, tool, hash, text string) (accepted string, err error) {
	const first = `INSERT INTO pins (server, tool, hash, contract, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (server, tool) DO NOTHING`
	known, err := s.pin(ctx, server, tool)
	if err != nil {
		return "", err
	}
	if known == nil {
		if _, err := s.exec(ctx, first, server, tool, hash, text, micros(s.now())); err != nil {
			return "", err
		}
		if known, err = s.pin(ctx, server, tool); err != nil || known == nil {
			return "", err
		}
	}
	switch {
	case known.Hash == hash && (known.OfferedHash != "" || known.Contract == ""):
		_, err = s.exec(ctx, `UPDATE pins SET contract = ?, offered_hash = '', offered = '' WHERE server = ? AND tool = ? AND hash = ?`, text, server, tool, hash)
	case known.Hash != hash && known.OfferedHash != hash:
		_, err = s.exec(ctx, `UPDATE pins SET offered_hash = ?, offered = ? WHERE server = ? AND tool = ? AND hash <> ?`, hash, text, server, tool, hash)
	}
	return known.Hash, err
}

// pinRow is a pin with its hash.
type pinRow struct {
	Pin
	Hash string
}

// pin reads from the writer: what was just stored must be seen. It is nil when there is none.
func (s *Store) pin(ctx context.Context, server, tool string) (*pinRow, error) {
	var found []pinRow
	err := s.query(ctx, &found, "SELECT hash, contract, offered_hash FROM pins WHERE server = ? AND tool = ?", server, tool)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Pin stores the contract of a tool as accepted, in place of an earlier one.
func (s *Store) Pin(ctx context.Context, server, tool, hash, text string) error {
	const pin = `INSERT INTO pins (server, tool, hash, contract, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, contract = excluded.contract, at = excluded.at, offered_hash = '', offered = ''`
	_, err := s.exec(ctx, pin, server, tool, hash, text, micros(s.now()))
	return err
}

// Pins lists what was accepted and what is offered, by server and tool.
func (s *Store) Pins(ctx context.Context) ([]Pin, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var all []Pin
	err := s.read.WithContext(ctx).Raw("SELECT server, tool, contract, offered, offered_hash, at FROM pins ORDER BY server, tool").Scan(&all).Error
	return all, translate(err)
}

// AcceptPin accepts exactly what was offered; agent.ErrNotFound when that is not what
// is offered any more.
func (s *Store) AcceptPin(ctx context.Context, p *Pin, e audit.Entry) error {
	const accept = `UPDATE pins SET hash = offered_hash, contract = offered, offered_hash = '', offered = '', at = ?
		WHERE server = ? AND tool = ? AND offered_hash = ? AND offered_hash <> ''`
	return s.transact(ctx, func(x *txn) error {
		n, err := x.changed(accept, micros(e.At), p.Server, p.Tool, p.OfferedHash)
		if err == nil && n == 0 {
			err = agent.ErrNotFound
		}
		if err != nil {
			return err
		}
		return x.audit([]audit.Entry{e})
	})
}
