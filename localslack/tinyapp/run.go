package tinyapp

import (
	"context"
	"errors"
	"fmt"
)

// Handler takes one envelope and returns the payload of its ack. ErrNoAck
// leaves it unacknowledged.
type Handler func(ctx context.Context, e Envelope) (payload any, err error)

// ErrNoAck makes Run drop an envelope.
var ErrNoAck = errors.New("no ack")

// Run acks every envelope by the handler until the context or the connection
// ends. An error of the handler ends it too.
func (c *Conn) Run(ctx context.Context, h Handler) error {
	for {
		e, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if e.ID == "" {
			continue
		}
		payload, err := h(ctx, e)
		if errors.Is(err, ErrNoAck) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Inner(), err)
		}
		if err := c.Ack(e.ID, payload); err != nil {
			return err
		}
	}
}
