package app

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// handler serves liveness, readiness and metrics.
func (a *App) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { a.live().programs.ServeHTTP(w, r) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if why := a.unready(r.Context()); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// How long a part may be silent or failing before the process counts as not ready.
const (
	silence = 45 * time.Second // Slack pings about every ten seconds
	failing = 2 * time.Minute
)

// unready says in one sentence why this process should get no traffic; empty: it is ready.
func (a *App) unready(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	e, now := a.live(), a.now()
	s := e.slack.socket.Status()
	switch {
	case e.bot.Removed():
		return "the workspace removed the app: install it again and give the new token"
	case !s.Ready():
		return "no connection to Slack: " + s.LastError
	case now.Sub(s.LastFrame) > silence:
		return fmt.Sprintf("Slack has been silent for %s", now.Sub(s.LastFrame).Round(time.Second))
	}
	if err := a.store.Ping(ctx); err != nil {
		return "the database does not answer"
	}
	if err := a.queue.Ready(); err != nil {
		return err.Error()
	}
	if since := e.bot.Failing(); !since.IsZero() && now.Sub(since) > failing {
		return fmt.Sprintf("every post to Slack has failed for %s", now.Sub(since).Round(time.Second))
	}
	if since := e.bot.Directory.Failing(); !since.IsZero() && now.Sub(since) > failing {
		return fmt.Sprintf("nobody has been looked up in Slack for %s, so no decision can be checked", now.Sub(since).Round(time.Second))
	}
	if since := a.metrics.ModelFailing(now); !since.IsZero() && now.Sub(since) > failing {
		return fmt.Sprintf("the model has not been reached for %s", now.Sub(since).Round(time.Second))
	}
	return a.overdue(ctx, now)
}

// overdue says when messages that did not fail stay undelivered all the same.
func (a *App) overdue(ctx context.Context, now time.Time) string {
	c, err := a.store.Census(ctx)
	switch {
	case err != nil:
		return "the database does not answer"
	case !c.Delivery.IsZero() && now.Sub(c.Delivery) > failing:
		return fmt.Sprintf("messages have waited for %s to be delivered", now.Sub(c.Delivery).Round(time.Second))
	}
	return ""
}
