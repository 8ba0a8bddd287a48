package metrics

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// prometheus starts the real server, scraping itself, and gives its address.
func prometheus(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		if os.Getenv("COUNTERSIGN_PROMETHEUS") == "" {
			t.Skip("prometheus is not installed")
		}
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	folder := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 100ms}\nscrape_configs: [{job_name: self, static_configs: [{targets: ['%s']}]}]\n", address)
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(program, "--config.file="+filepath.Join(folder, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it keeps nothing that is of use
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return "http://" + address
}

// scraped waits until a query has an answer.
func scraped(t *testing.T, address, query string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/api/v1/query?query="+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && strings.Contains(string(body), `"value"`) {
			return
		}
	}
	t.Fatal("Prometheus scrapes nothing")
}

func TestPrometheus(t *testing.T) {
	t.Parallel()
	address := prometheus(t)
	scraped(t, address, "up==1")
	scraped(t, address, "rate(prometheus_http_requests_total[1m])")
	made := tool(t, Config{URL: address, Now: time.Now})

	r, err := ask(t, made, `{"query":"up"}`)
	if err != nil || len(r.Table.Rows) != 1 || !strings.HasPrefix(r.Table.Rows[0][0], `up{instance="127.0.0.1:`) || r.Table.Rows[0][1] != "1" {
		t.Error(r.Text, err)
	}
	r, err = ask(t, made, `{"query":"prometheus_http_requests_total","range":"1m","step":"1s"}`)
	if err != nil || len(r.Table.Columns) != 7 || len(r.Table.Rows) < 2 || len(r.Files) != 1 {
		t.Fatal(r.Text, err)
	}
	if _, err := png.Decode(bytes.NewReader(r.Files[0].Bytes)); err != nil || len(r.Files[0].Bytes) > 100<<10 {
		t.Error(len(r.Files[0].Bytes), err)
	}
	for query, want := range map[string]string{
		"scalar(vector(42))": "{} | 42",
		`\"text\"`:           "{} | text",
		"up == 7":            "(nothing matches)",
		"up[1m]":             "points",
	} {
		if r, err := ask(t, made, `{"query":"`+query+`"}`); err != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s, %v", query, r.Text, err)
		}
	}
	_, err = ask(t, made, `{"query":"sum(up"}`)
	if wantCode(t, err, "bad_data"); !strings.Contains(fmt.Sprint(err), "parse error") {
		t.Error(err)
	}
	_, err = ask(t, made, `{"query":"up + on(job) group_left() {__name__=~\".+\"}"}`)
	wantCode(t, err, "execution")
	if _, err = ask(t, made, `{"query":"up","at":"1970-01-02T00:00:00Z"}`); err != nil {
		t.Error(err)
	}
}
