package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/httpapi"
)

// restart patches something deep inside of a document, as Kubernetes wants it.
func restart(base string) httpapi.Tool {
	return httpapi.Tool{
		Name: "restart", Description: "Restart.", Method: "PATCH", URL: base + "/deployments/{name}", PrivateNetwork: true,
		ContentType: "application/merge-patch+json",
		Body:        json.RawMessage(`{"spec":{"replicas":"{replicas}","list":["{why}","fixed {text}"],"annotations":{"restart":"{idempotency_key}"}}}`),
		Parameters:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"replicas":{"type":"integer"},"why":{"type":"string"}},"required":["name"]}`),
	}
}

func TestDeclaredBody(t *testing.T) {
	t.Parallel()
	var got []string
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Header.Get("Content-Type"), string(body))
	})
	tool := newTool(t, restart(base))
	for _, text := range []string{`{"name":"web","replicas":3,"why":"a \"{name}\" <b>"}`, `{"name":"web"}`} {
		p, err := tool.(tools.Previewer).Preview(t.Context(), args(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Call(t.Context(), args(text)); err != nil {
			t.Fatal(err)
		}
		if sent := got[len(got)-1]; p.Material["body"] != sent {
			t.Errorf("shown %s, sent %s", p.Material["body"], sent)
		}
	}
	want := []string{
		"application/merge-patch+json", `{"spec":{"annotations":{"restart":"run1-4"},"list":["a \"{name}\" <b>","fixed {text}"],"replicas":3}}`,
		"application/merge-patch+json", `{"spec":{"annotations":{"restart":"run1-4"},"list":["fixed {text}"]}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*httpapi.Tool){
		"not an argument":         func(c *httpapi.Tool) { c.Body = json.RawMessage(`{"a":"{nobody}"}`) },
		"whole value":             func(c *httpapi.Tool) { c.Body = json.RawMessage(`{"a":"web-{why}","b":"{replicas}","c":"{why}"}`) },
		"named by an argument":    func(c *httpapi.Tool) { c.Body = json.RawMessage(`{"{why}":1}`) },
		"not JSON":                func(c *httpapi.Tool) { c.Body = json.RawMessage(`{`) },
		"neither in the url":      func(c *httpapi.Tool) { c.Body = json.RawMessage(`{"a":"{why}"}`) },
		"no body":                 func(c *httpapi.Tool) { c.Method = "GET" },
		"content type":            func(c *httpapi.Tool) { c.ContentType = "text/html" },
		`type "application/json;`: func(c *httpapi.Tool) { c.ContentType = "application/json; charset=x" },
	} {
		c := restart("https://host.example")
		change(&c)
		if _, err := httpapi.New(c, httpapi.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}
