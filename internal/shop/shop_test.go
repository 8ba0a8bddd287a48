package shop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/shop"
)

func now() time.Time { return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) }

// open opens the shop of a folder and serves it.
func open(t *testing.T, dir string) (*shop.Shop, string) {
	t.Helper()
	s, err := shop.Open(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return s, server.URL
}

// do sends a request and gives its status and body.
func do(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func TestReads(t *testing.T) {
	t.Parallel()
	_, base := open(t, t.TempDir())
	for path, want := range map[string]string{
		"/customers?name=%E5%BC%A0%E4%B8%89": `[{"id":1,"name":"张三","balance":42.5}]`,
		"/customers?name=nobody":             `[]`,
		"/customers/2":                       `{"id":2,"name":"Ana","balance":250}`,
		"/orders/9":                          `{"id":9,"customer":"Ana","amount":1800,"refunded":0,"status":"paid","created_at":"2026-11-28T08:00:00Z"}`,
		"/orders/77":                         `{"error":"There is no such order."}`,
		"/orders/x":                          `{"error":"There is no such order."}`,
		"/elsewhere":                         `{"error":"There is nothing at this address."}`,
		"/answers/k":                         `{"error":"There is no such key."}`,
	} {
		status, got := do(t, "GET", base+path, "", "")
		if got != want || (status == http.StatusOK) == strings.Contains(want, "error") {
			t.Errorf("%s: %d %s, want %s", path, status, got, want)
		}
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	s, base := open(t, t.TempDir())
	steps := []struct {
		path, key, body string
		status          int
		want            string
	}{
		{"/orders/9/refund", "a", `{"amount":1500}`, 201, `{"refund":1,"order":9,"amount":1500,"left":300}`},
		{"/orders/9/refund", "a", `{ "amount": 1500 }`, 201, `{"refund":1,"order":9,"amount":1500,"left":300}`},
		{"/orders/9/refund", "a", `{"amount":1}`, 422, `{"error":"The idempotency key was used for another request."}`},
		{"/orders/8/refund", "a", `{"amount":1500}`, 422, `{"error":"The idempotency key was used for another request."}`},
		{"/orders/9/refund", "b", `{"amount":300.01}`, 409, `{"error":"The order has 300 EUR left to refund."}`},
		{"/orders/9/refund", "b", `{"amount":299.99}`, 201, `{"refund":2,"order":9,"amount":299.99,"left":0.01}`},
		{"/orders/9/refund", "c", `{"amount":0.01}`, 201, `{"refund":3,"order":9,"amount":0.01,"left":0}`},
		{"/orders/9/refund", "d", `{"amount":0}`, 422, `{"error":"The amount must be more than nothing and have at most two decimals."}`},
		{"/orders/8/refund", "e", `{"amount":0.005}`, 422, `{"error":"The amount must be more than nothing and have at most two decimals."}`},
		{"/orders/10/refund", "f", `{"amount":5}`, 409, `{"error":"The order is not paid yet."}`},
		{"/orders/8/refund", "g", `{"amount":5,"to":"me"}`, 400, `{"error":"The request's body cannot be read."}`},
		{"/orders/88/refund", "h", `{"amount":5}`, 404, `{"error":"There is no such order."}`},
	}
	for _, step := range steps {
		status, got := do(t, "POST", base+step.path, step.key, step.body)
		if status != step.status || got != step.want {
			t.Errorf("%s %s: %d %s, want %d %s", step.path, step.body, status, got, step.status, step.want)
		}
	}
	if _, got := do(t, "GET", base+"/orders/9", "", ""); !strings.Contains(got, `"refunded":1800,"status":"refunded"`) {
		t.Errorf("order after all: %s", got)
	}
	effects, err := s.Effects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range effects {
		count[e.Outcome]++
	}
	if diff := cmp.Diff(map[string]int{"done": 3, "replayed": 1, "refused": 8}, count); diff != "" {
		t.Error(diff)
	}
}

// TestKeysHoldAgainstRacesAndRestarts: twenty at once and one after a restart have one effect.
func TestKeysHoldAgainstRacesAndRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, base := open(t, dir)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if status, got := do(t, "POST", base+"/customers/1/reminders", "k", `{"message":"Please top up."}`); status != 201 {
				t.Errorf("%d %s", status, got)
			}
		})
	}
	group.Wait()
	s.Close()
	s, base = open(t, dir)
	if status, got := do(t, "POST", base+"/customers/1/reminders", "k", `{"message":"Please top up."}`); status != 201 || got != `{"customer":"张三","reminder":1,"sent":true}` {
		t.Errorf("after a restart: %d %s", status, got)
	}
	if _, got := do(t, "GET", base+"/answers/k", "", ""); got != `{"customer":"张三","reminder":1,"sent":true}` {
		t.Errorf("answer: %s", got)
	}
	effects, err := s.Effects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := shop.Effect{ID: 1, At: "2026-11-30T08:00:00Z", Request: "POST /customers/1/reminders", Key: "k", Outcome: "done"}
	if len(effects) != 21 || effects[0] != want || effects[20].Outcome != "replayed" {
		t.Errorf("%d effects, the first %+v", len(effects), effects[0])
	}
}

func TestWithoutKeyEveryRequestCounts(t *testing.T) {
	t.Parallel()
	_, base := open(t, t.TempDir())
	for _, want := range []string{`"reminder":1`, `"reminder":2`} {
		if _, got := do(t, "POST", base+"/customers/4/reminders", "", `{"message":"x"}`); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if status, _ := do(t, "POST", base+"/customers/4/reminders", "", `{"message":" "}`); status != 422 {
		t.Errorf("empty reminder: %d", status)
	}
}

func TestSeedKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := shop.Seed(dir); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "data", "transactions.log"))
	if err != nil || strings.Count(string(log), "amount=") != 3 {
		t.Errorf("transactions: %q, %v", log, err)
	}
	doc := filepath.Join(dir, "docs", "doc_42.md")
	if err := os.Remove(doc); err != nil {
		t.Fatal(err)
	}
	if err := shop.Seed(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(doc); !os.IsNotExist(err) {
		t.Errorf("a deleted document came back: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("folder holds %v, %v", entries, err)
	}
}
