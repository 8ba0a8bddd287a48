package apptest

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// Ready asks the newest process whether it is ready; status 0: it does not answer yet.
func (w *World) Ready() (status int, why string) {
	w.t.Helper()
	answer, err := http.Get("http://" + w.Newest().Addr() + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	w.must(err)
	return answer.StatusCode, string(body)
}

// Shifted is the real clock, moved ahead by tests.
type Shifted struct {
	mu sync.Mutex
	by time.Duration
}

// Now is the moved time.
func (s *Shifted) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.by)
}

// Shift moves the clock on.
func (s *Shifted) Shift(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by += by
}
