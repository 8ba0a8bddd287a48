package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/internal/record"
	"countersign/localslack/slacktest"
)

func TestAuditIsVerified(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	out := d.must("audit", "verify")
	golden(t, "audit_verify", out)
	head := strings.TrimSpace(out[strings.LastIndex(out, " ")+1:])
	d.must("audit", "verify", "--head", head)
	n, hash, _ := strings.Cut(head, ":")
	d.fails("not as it was when that head was noted", "audit", "verify", "--head", n+":0000000000000000")
	d.fails("entry 999, which was witnessed, is missing", "audit", "verify", "--head", "999:"+hash)
	for _, bad := range []string{"7", "x:" + hash, ":", "0:" + hash, n + ":"} {
		d.fails("--head is N:HASH", "audit", "verify", "--head", bad)
	}
	if _, err := d.Newest().Store().Writer().ExecContext(t.Context(), "UPDATE audit_entries SET user_id = 'U0FIN' WHERE seq = 1"); err != nil {
		t.Fatal(err)
	}
	d.fails("The record is not as it was written", "audit", "verify")
}

// The exported chain can be computed again from the export alone.
func TestAuditIsExported(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	lines := bufio.NewScanner(strings.NewReader(d.must("audit", "export")))
	lines.Buffer(nil, 1<<20)
	n, prev := int64(0), ""
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `{"head":`) {
			if want := fmt.Sprintf(`{"head":"%d:%s"}`, n, prev); lines.Text() != want {
				t.Errorf("the last line is %s, want %s", lines.Text(), want)
			}
			continue
		}
		var x record.Entry
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		n++
		if x.Seq != n || x.Prev != prev || x.Hash != x.Audit().Sum() {
			t.Errorf("entry %d does not follow: %+v", n, x)
		}
		prev = x.Hash
	}
	if n < 3 {
		t.Fatalf("%d entries", n)
	}
	if out := d.must("audit", "export", "--after", fmt.Sprint(n-1)); strings.Count(out, "\n") != 2 || !strings.Contains(out, prev) {
		t.Errorf("the last entry: %s", out)
	}
	if out := d.must("audit", "export", "--run", "r_none"); out != "" {
		t.Errorf("entries of no run: %s", out)
	}
}

var (
	loggedHead = regexp.MustCompile(`msg="audit head" head=(\S+)`)
	cardsHead  = regexp.MustCompile("记录 `(\\d+:[0-9a-f]+)`")
)

// The log and each settled card witness the record: the heads that stand there verify it,
// and show that its end was cut off afterwards.
func TestHeadsInTheLogAndOnCardsAreWitnesses(t *testing.T) {
	t.Parallel()
	log := &journal{}
	d, card, _ := waiting(t, apptest.Options{Log: log})
	d.Press(d.Slack.User("mgr"), card, "approval_approve")
	d.Until("the end", func() bool { return d.runOf().State == agent.Success })
	d.Slack.ExpectUpdate(card, slacktest.Text("记录"))
	heads := []string{cardsHead.FindStringSubmatch(card.Shown())[1]}
	for _, found := range loggedHead.FindAllStringSubmatch(log.String(), -1) {
		if found[1] != "0:" { // of the empty record, at the start
			heads = append(heads, found[1])
		}
	}
	if !strings.Contains(log.String(), `msg="audit head"`) {
		t.Error("no head is in the log")
	}
	for _, head := range heads {
		d.must("audit", "verify", "--head", head)
	}
	if _, err := d.Newest().Store().Writer().ExecContext(t.Context(), "DELETE FROM audit_entries WHERE seq >= "+strings.Split(heads[0], ":")[0]); err != nil {
		t.Fatal(err)
	}
	d.fails("missing", "audit", "verify", "--head", heads[0])
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// An export is verified by itself, and shows what was done to it since.
func TestExportedAuditIsVerified(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	whole := d.must("audit", "export")
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	out := d.must("audit", "verify", "--file", file)
	head := strings.TrimSpace(out[strings.LastIndex(out, " ")+1:])
	d.must("audit", "verify", "--file", file, "--head", head)
	d.must("audit", "verify", "--head", head)
	n, _, _ := strings.Cut(head, ":")
	d.fails("not the one that was witnessed", "audit", "verify", "--file", file, "--head", n+":0000000000000000")
	lines := strings.SplitAfter(whole, "\n")
	for what, text := range map[string]string{
		"the end of the file is missing": strings.Join(lines[:len(lines)-2], ""),
		"is missing":                     lines[0] + strings.Join(lines[2:], ""),
		"not the last that was exported": strings.Join(append(slices.Clone(lines[:len(lines)-3]), lines[len(lines)-2]), ""),
		"was changed":                    strings.Replace(whole, "U0ANA", "U0EVE", 1),
		"is no entry":                    whole + lines[0],
	} {
		write(text)
		d.fails(what, "audit", "verify", "--file", file)
	}
	write(d.must("audit", "export", "--after", "1"))
	d.must("audit", "verify", "--file", file)
	d.fails("cannot be opened", "audit", "verify", "--file", file+".none")
	d.fails("cannot be read: name the file", "audit", "verify", "--file", filepath.Dir(file))
}
