package store

import (
	"context"
	"sync"
)

// gate lets the transactions of SQLite's one writer through one at a time. What came in
// from people goes before everything that follows from it, so that Slack has its
// acknowledgements in time however much there is to do. Within its class each comes in turn.
type gate struct {
	mu     sync.Mutex
	busy   bool
	inbox  []chan struct{}
	others []chan struct{}
}

// enter waits for the gate; call leave when the transaction is over. A nil gate is open.
func (g *gate) enter(ctx context.Context, inbox bool) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		return nil
	}
	line, turn := g.line(inbox), make(chan struct{})
	*line = append(*line, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		g.giveUp(line, turn)
		return ctx.Err()
	}
}

func (g *gate) line(inbox bool) *[]chan struct{} {
	if inbox {
		return &g.inbox
	}
	return &g.others
}

// giveUp takes somebody out of a line, or hands on the turn that came too late.
func (g *gate) giveUp(line *[]chan struct{}, turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, waiting := range *line {
		if waiting == turn {
			*line = append((*line)[:i], (*line)[i+1:]...)
			return
		}
	}
	g.next()
}

func (g *gate) leave() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next()
}

func (g *gate) next() {
	for _, line := range []*[]chan struct{}{&g.inbox, &g.others} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = (*line)[1:]
			return
		}
	}
	g.busy = false
}
