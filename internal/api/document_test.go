package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described is the document as far as it is held against the code.
type described struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"schemas"`
	} `json:"components"`
}

func documented(t *testing.T) described {
	t.Helper()
	w := httptest.NewRecorder()
	New(Config{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
	var d described
	if err := json.Unmarshal(w.Body.Bytes(), &d); w.Code != http.StatusOK || err != nil {
		t.Fatalf("the document: %d %v", w.Code, err)
	}
	return d
}

// Everything that is described is served, and nothing else: a request without a token
// is turned away by name, an unknown path is not found.
func TestTheDocumentNamesWhatIsServed(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for path, operations := range documented(t).Paths {
		for method := range operations {
			_, pattern := s.mux.Handler(httptest.NewRequest(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "x"), nil))
			if want := strings.ToUpper(method) + " " + path; pattern != want {
				t.Errorf("%s is served by %q", want, pattern)
			}
		}
	}
	if n := len(documented(t).Paths); n != 6 {
		t.Errorf("%d paths are described, six are served", n)
	}
}

// The schemas have the fields of what is really read and written, and require those
// that are always there.
func TestTheSchemasAreTheCode(t *testing.T) {
	t.Parallel()
	schemas := documented(t).Components.Schemas
	for name, v := range map[string]any{
		"NewRun": newRun{}, "Started": started{}, "Run": run{}, "Step": step{}, "Approval": approval{}, "Verdict": verdict{}, "Counted": counted{}, "Failure": failure{},
	} {
		var all, always []string
		for f := range reflect.TypeOf(v).Fields() {
			field, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field == "" {
				continue
			}
			all = append(all, field)
			if rest != "omitempty" {
				always = append(always, field)
			}
		}
		got := slices.Sorted(maps.Keys(schemas[name].Properties))
		slices.Sort(all)
		slices.Sort(always)
		required := slices.Sorted(slices.Values(schemas[name].Required))
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("%s: fields (code - document +)\n%s", name, d)
		}
		if d := cmp.Diff(slices.Clip(always), required); len(always)+len(required) > 0 && d != "" {
			t.Errorf("%s: required (code - document +)\n%s", name, d)
		}
	}
}
