package sandbox

import (
	"context"
	"strconv"
	"time"

	"github.com/moby/moby/client"
)

// sweep removes overdue containers from time to time: those of processes that died, of
// whatever label, and those that an engine would not remove when it was asked.
func (s *Sandbox) sweep(ctx context.Context) {
	defer close(s.swept)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.sweepOnce(ctx)
		}
	}
}

func (s *Sandbox) sweepOnce(ctx context.Context) {
	c, err := s.engine(ctx)
	if err != nil {
		return
	}
	if err := s.noted(c, s.reap(ctx, c, false)); err != nil {
		s.cfg.Logger.WarnContext(ctx, "overdue containers could not be looked for", "error", err)
	}
}

// reapTimeout bounds one search, so that an engine that hangs does not hold up the start.
const reapTimeout = 30 * time.Second

// reap removes overdue containers; with own set also those under our label, which only
// a predecessor can have made.
func (s *Sandbox) reap(ctx context.Context, c *client.Client, own bool) error {
	ctx, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	found, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelOwner)})
	if err != nil {
		return err
	}
	for _, item := range found.Items {
		mine := own && s.cfg.Label != "" && item.Labels[labelOwner] == s.cfg.Label
		if mine || s.overdue(item.Labels) {
			s.cfg.Logger.WarnContext(ctx, "removing a container that was left behind", "container", item.ID)
			s.remove(ctx, c, item.ID)
		}
	}
	return nil
}

func (s *Sandbox) overdue(labels map[string]string) bool {
	until, err := strconv.ParseInt(labels[labelUntil], 10, 64)
	return err == nil && s.cfg.Now().Unix() > until
}
