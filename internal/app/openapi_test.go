package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/tools"
)

// partsOf loads a configuration and makes its tools.
func partsOf(t *testing.T, text string) (*app.Parts, error) {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	p, err := app.NewParts(t.Context(), cfg, app.Options{})
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

func TestOpenAPITools(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shop.json")
	document := `{"openapi":"3.1.0","servers":[{"url":"https://shop.example"}],"paths":{"/orders/{id}":{
		"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
		"get":{"operationId":"getOrder"},"delete":{"operationId":"dropOrder"}}}}`
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	head := "roles: {support: {users: [U1]}}\ntools:\n  openapi:\n    - {file: " + file + ", "
	p, err := partsOf(t, head+"operations: [{id: getOrder}, {id: dropOrder, name: drop, roles: [support], private: true, preview: {id: getOrder, fields: [status]}}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	drop, ok := p.Tools.Get("drop")
	if read, there := p.Tools.Get("getOrder"); !ok || !there || read.Spec().Risk != tools.Low {
		t.Fatal("an operation is missing, or a GET is not a read")
	}
	if s := drop.Spec(); s.Risk != tools.High || !s.Private || len(s.Roles) != 1 {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		"operations: [{id: nobody}]}":                                            "no such id",
		"operations: [{id: getOrder, name: query_sql}]}":                         "built-in",
		"operations: [{id: getOrder}, {id: dropOrder, name: getOrder}]}":         "is taken",
		"operations: [{id: getOrder, roles: [nobody]}]}":                         "nobody",
		"url: 'http://127.0.0.1:8080', operations: [{id: getOrder}]}":            "own listener",
		"operations: [{id: dropOrder, idempotency_window: 1h}]}":                 "means nothing",
		"operations: [{id: dropOrder, preview: {id: dropOrder, fields: [id]}}]}": "not a GET",
	} {
		if _, err := partsOf(t, head+text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: wanted %q, got %v", text, want, err)
		}
	}
}
