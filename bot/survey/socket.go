package survey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/bot/socket"
)

// ErrNoGreeting says that a socket's address was given out but Slack did not
// greet on it.
var ErrNoGreeting = errors.New("no greeting on the socket")

// Open asks for a socket's address and does not use it: it shows that the
// app-level token works, and takes no part in the traffic.
func (s *Survey) Open(ctx context.Context) error {
	_, err := s.edge.Open()(ctx)
	var open *socket.OpenError
	if errors.As(err, &open) && open.Code != "" {
		return &Refused{Code: open.Code}
	}
	return refusal(err)
}

// Greet opens a socket, waits for Slack's greeting and says goodbye at once. It
// gives how many connections of the app Slack counted beside ours. What arrives
// in that moment is not acknowledged, so events come again; a click would not,
// which is why this is not for beside a running bot.
func (s *Survey) Greet(ctx context.Context) (others int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := socket.New(socket.Config{
		Open: s.edge.Open(), Connections: 1, Workers: 1, Now: s.cfg.Now,
		Handle: func(context.Context, socket.Envelope) socket.Response { return socket.Response{} },
	})
	ended := make(chan error, 1)
	go func() { ended <- t.Run(ctx) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		st := t.Status()
		if st.Ready() || st.LastError != "" { // one failure says enough: what runs for long would try again
			cancel()
			err := <-ended
			if st.Ready() {
				return max(st.SlackConnections-1, 0), nil
			}
			return 0, noGreeting(t, err)
		}
		select {
		case err := <-ended:
			return 0, noGreeting(t, err)
		case <-tick.C:
		}
	}
}

func noGreeting(t *socket.Transport, err error) error {
	var refused *socket.AuthError
	if errors.As(err, &refused) {
		return &Refused{Code: refused.Code}
	}
	return fmt.Errorf("%w: %s", ErrNoGreeting, t.Status().LastError)
}
