//go:build unix

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"countersign/internal/apptest"
)

// till is a service that charges numbers and takes its time for it. Of the numbers that
// end in k it knows the key: the same one charges once, however often it comes. Even
// numbers are charged at once and odd ones at the end, if the caller is still there: of a call that
// was cut short nobody but the till can tell.
type till struct {
	takes time.Duration

	mu     sync.Mutex
	inside int               // calls under way
	counts map[string]int    // charges by number
	keys   map[string]string // what came with each key
	cut    int               // callers that went away before their answer
	again  int               // calls under a known key
	other  int               // of them, those with other bytes
}

// ServeHTTP charges.
func (s *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller died while it spoke
	}
	number := strings.TrimPrefix(r.URL.Path, "/")
	at := s.enter(number, r.Header.Get("Idempotency-Key"), number+string(body))
	select {
	case <-r.Context().Done():
		s.leave("", true)
	case <-time.After(s.takes):
		s.leave(at, false)
		fmt.Fprintln(w, `{"charged": true}`)
	}
}

// enter charges what is charged at once, and gives the number that is to be charged at
// the end; empty: none is.
func (s *till) enter(number, key, sent string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside++
	digits := strings.TrimRight(number, "ks")
	if strings.HasSuffix(number, "k") {
		known, ok := s.keys[key]
		s.keys[key] = cmp.Or(known, sent)
		if ok {
			s.again++
		}
		if ok && known != sent {
			s.other++
		}
		if !ok {
			s.counts[number]++
		}
		return ""
	}
	if strings.Contains("02468", digits[len(digits)-1:]) {
		s.counts[number]++
		return ""
	}
	return number
}

func (s *till) leave(number string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
	if cut {
		s.cut++
	}
	if number != "" {
		s.counts[number]++
	}
}

func (s *till) charged(number string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[number]
}

// busy says whether each of two callers is likely to be in a call.
func (s *till) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside >= 2
}

// cashier is a model that charges the number that it is told, then says so.
func cashier() http.Handler {
	number := func(r apptest.Request) string {
		for _, m := range r.Messages {
			if _, after, ok := strings.Cut(m.Content, "charge number "); ok && m.Role == "user" {
				return strings.Fields(after)[0]
			}
		}
		return "none"
	}
	return apptest.Play(apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		n := number(r)
		tool := "charge"
		switch n[len(n)-1] {
		case 's':
			tool = "charge_signed"
		case 'k':
			tool = "charge_keyed"
		}
		return apptest.Calls(tool, fmt.Sprintf(`{"thought":"asked for","number":%q}`, n))
	}}, apptest.Turn{From: func(r apptest.Request) apptest.Turn { return apptest.Says("Done with number " + number(r) + ".") }})
}

// charges are the tools of the till: one that runs by itself, one that takes a
// signature, and one whose calls carry a key that the till knows.
func charges(url string) string {
	const one = `    - name: %s
      description: Charge a number.
      method: POST
      url: "%s/{number}"
      risk: %s
      idempotent: %t
      private_network: true
      parameters: {type: object, properties: {number: {type: string, pattern: "^[0-9]+[ks]?$"}}, required: [number]}
`
	return fmt.Sprintf(one, "charge", url, "medium", false) + fmt.Sprintf(one, "charge_signed", url, "high", false) +
		fmt.Sprintf(one, "charge_keyed", url, "medium", true) + "limits: {open_approvals: {per_run: 5, per_asker: 1000}}\n"
}
