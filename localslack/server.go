package localslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is the running local Slack.
type Server struct {
	cfg     Config
	ws      *Workspace
	base    string // http://127.0.0.1:port
	wall    func() time.Time
	methods map[string]method
	limiter *limiter
	heard   heard
	faults  faults
	records records
	handles *handles
	socket  *socket
	page    http.Handler
	http    *http.Server
	done    chan struct{}
	served  chan struct{}
	stop    context.CancelFunc // ends the requests that wait
}

// New makes a server and reads back what Config.Dir holds. Start serves it.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, ws: newWorkspace(cfg.Now, cfg.Seed), wall: time.Now, methods: allMethods(), limiter: newLimiter(cfg.Limits),
		handles: newHandles(), done: make(chan struct{}), served: make(chan struct{}),
	}
	s.faults.scopes = cfg.App.Scopes
	s.socket = newSocket(s)
	s.ws.team, s.ws.app = cfg.Team, cfg.App.App
	if cfg.Dir != "" {
		j, err := openJournal(cfg.Dir, s.ws)
		if err != nil {
			return nil, err
		}
		s.ws.journal = j
	}
	if err := s.ws.seed(cfg); err != nil {
		return nil, err
	}
	s.ws.wants, s.ws.deliver = s.socket.subscribed, s.socket.event
	if cfg.Page != nil {
		s.page = NewPage(s, *cfg.Page)
	}
	return s, nil
}

// Start serves on the listener in the background. It must be a loopback
// address: whoever reaches the page is whoever they choose to be.
func (s *Server) Start(l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return fmt.Errorf("%w: local Slack listens on loopback only, not on %s", errConfig, l.Addr())
	}
	s.base = "http://" + addr.String()
	s.ws.mu.Lock()
	s.ws.base = s.base
	s.ws.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: s.heard.forget,
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Logger.Error("local Slack stopped", "error", err)
		}
	}()
	return nil
}

// BaseURL is http://host:port; the page is there.
func (s *Server) BaseURL() string { return s.base }

// APIURL is what SLACK_API_URL is set to.
func (s *Server) APIURL() string { return s.base + "/api/" }

// Workspace is what the server holds.
func (s *Server) Workspace() *Workspace { return s.ws }

// SetPage mounts a handler at "/" in place of the page, before Start.
func (s *Server) SetPage(h http.Handler) { s.page = h }

// Close ends all connections and closes the journal.
func (s *Server) Close() error {
	close(s.done)
	s.socket.closeAll()
	var err error
	if s.http != nil {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			err = s.http.Close()
		}
		<-s.served
	}
	s.socket.wait()
	return errors.Join(err, s.ws.journal.close())
}

func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		switch {
		case strings.HasPrefix(path, "/api/"):
			s.serveAPI(w, r)
		case strings.HasPrefix(path, "/link"):
			s.serveLink(w, r)
		case strings.HasPrefix(path, "/hooks/actions/"):
			s.serveResponse(w, r)
		case strings.HasPrefix(path, "/upload/"):
			s.serveUpload(w, r)
		case strings.HasPrefix(path, "/files/"):
			s.serveFile(w, r)
		case s.page != nil:
			s.page.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

func (s *Server) writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody to tell
}

// seed puts in what the configuration names and the journal does not know.
func (w *Workspace) seed(cfg Config) error {
	return w.update(func(c *change) error {
		app := cfg.App.App
		people := append([]Person{{
			ID: app.UserID, Name: app.Name, RealName: app.Name, IsBot: true, BotID: app.BotID, AppID: app.ID,
		}}, cfg.People...)
		for _, p := range people {
			if _, known := w.people[p.ID]; !known {
				c.putPerson(p)
			}
		}
		for _, g := range cfg.Usergroups {
			if _, known := w.usergroups[g.ID]; !known {
				c.putUsergroup(g)
			}
		}
		for _, ch := range cfg.Channels {
			if _, known := w.channels[ch.ID]; !known {
				if ch.Kind == "" {
					ch.Kind = Public
				}
				c.putChannel(ch)
			}
		}
		return nil
	})
}
