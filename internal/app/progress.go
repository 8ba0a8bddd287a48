package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"countersign/tools/mcp"
)

// noteTimeout bounds the storing of one note: a late one is of no use.
const noteTimeout = 2 * time.Second

// notes takes what MCP servers say of running calls to the thread. Whoever says it does
// not wait: what comes too fast is left out.
type notes struct {
	app  *edition
	said chan mcp.Progress
	quit chan struct{}
	done chan struct{}
}

func (a *edition) wireNotes() *notes {
	n := &notes{app: a, said: make(chan mcp.Progress, 16), quit: make(chan struct{}), done: make(chan struct{})}
	go n.keep()
	return n
}

// take is called by servers, which may still speak while the program stops.
func (n *notes) take(p mcp.Progress) {
	select {
	case n.said <- p:
	default:
	}
}

func (n *notes) keep() {
	defer close(n.done)
	for {
		select {
		case p := <-n.said:
			n.store(p)
		case <-n.quit:
			return
		}
	}
}

func (n *notes) store(p mcp.Progress) {
	step, err := strconv.Atoi(p.Step)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	if err := n.app.store.Note(ctx, p.Run, step, n.app.mask(noted(p))); err != nil {
		n.app.log.DebugContext(ctx, "the progress of a call could not be noted", "run", p.Run, "error", err)
	}
}

// noted is a note as people read it.
func noted(p mcp.Progress) string {
	text := p.Message
	if p.Total > 0 {
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("(%g of %g)", p.Done, p.Total)
	}
	return text
}

func (n *notes) close() error {
	close(n.quit)
	<-n.done
	return nil
}
