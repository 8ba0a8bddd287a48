package openapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
	"countersign/tools/httpapi"
	"countersign/tools/httpapi/openapi"
)

func shop(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func one(t *testing.T, base string, o openapi.Operation) httpapi.Tool {
	t.Helper()
	list, err := openapi.Declare(shop(t), base, []openapi.Operation{o})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

func TestDeclare(t *testing.T) {
	t.Parallel()
	got := one(t, "", openapi.Operation{ID: "issueRefund", PreviewID: "getOrder", PreviewFields: []string{"status"}})
	if got.Name != "issueRefund" || got.Method != "POST" || got.URL != "https://shop.example/v1/orders/{order_id}/refunds?notify={notify}" {
		t.Errorf("%s %s %s", got.Name, got.Method, got.URL)
	}
	if got.Description != "Refund an order.\nThe money goes back the way it came." {
		t.Error(got.Description)
	}
	if diff := cmp.Diff(&httpapi.Read{Method: "GET", URL: "https://shop.example/v1/orders/{order_id}", Fields: []string{"status"}}, got.Preview); diff != "" {
		t.Error(diff)
	}
	var schema, want any
	if err := json.Unmarshal(got.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	err := json.Unmarshal([]byte(`{"type":"object","additionalProperties":false,"required":["order_id","amount","reason"],"properties":{
		"order_id":{"type":"string","description":"Number of the order."},"notify":{"type":"boolean"},
		"amount":{"type":"number","exclusiveMinimum":0},"example":{"type":["string","null"],"description":"A member that is called like a keyword."},
		"reason":{"type":"string","enum":["damaged","late"]}}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Error(diff)
	}
}

// The risk follows the verb, unless it is said.
func TestRiskOfTheVerb(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]tools.Risk{"getOrder": tools.Low, "deleteOrder": tools.High, "issueRefund": tools.High} {
		tool, err := httpapi.New(one(t, "", openapi.Operation{ID: id}), httpapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.Spec(); got.Risk != want || got.Effects != (want != tools.Low) {
			t.Errorf("%s: %s, effects %v", id, got.Risk, got.Effects)
		}
	}
	said := one(t, "", openapi.Operation{ID: "issueRefund", Tool: httpapi.Tool{Name: "refund", Risk: tools.Medium, Description: "Ours."}})
	if said.Risk != tools.Medium || said.Name != "refund" || said.Description != "Ours." {
		t.Errorf("%+v", said)
	}
}

// What the document declares is what is sent.
func TestAnImportedCall(t *testing.T) {
	t.Parallel()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.RequestURI+" "+string(body))
		_, _ = io.WriteString(w, `{"status":"paid"}`)
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct{ id, preview, args string }{
		{"issueRefund", "getOrder", `{"order_id":"7","amount":20,"reason":"late","notify":true}`},
		{"getOrder", "", `{"order_id":"7","with":["lines","customer"],"currency":"EUR"}`},
	} {
		tool, err := httpapi.New(one(t, s.URL+"/api/", openapi.Operation{ID: c.id, PreviewID: c.preview, Tool: httpapi.Tool{PrivateNetwork: true}}), httpapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		call := tools.Call{Run: "r", Step: "1", Args: json.RawMessage(c.args)}
		if _, err := tool.(tools.Previewer).Preview(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"GET /api/orders/7 ", `POST /api/orders/7/refunds?notify=true {"amount":20,"reason":"late"}`,
		"GET /api/orders/7?currency=EUR&with=lines&with=customer ",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeDeclared(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]openapi.Operation{
		"no such id; it has away, list": {ID: "nobody"},
		"leads back to itself":          {ID: "makeTree"},
		"not application/json but":      {ID: "upload"},
		"needs the header X-Sign":       {ID: "signed"},
		`two arguments are named "a"`:   {ID: "twice"},
		"no object with named members":  {ID: "list"},
		"leads out of the document":     {ID: "away"},
		"leads to nothing":              {ID: "nothing"},
		"not a GET or HEAD":             {ID: "issueRefund", PreviewID: "deleteOrder"},
	} {
		if _, err := openapi.Declare(shop(t), "", []openapi.Operation{o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: wanted %q, got %v", o.ID, want, err)
		}
	}
	for want, text := range map[string]string{
		"not OpenAPI 3": `swagger: "2.0"`, "no server": "openapi: 3.1.0", "no whole address": "{openapi: 3.1.0, servers: [{url: /v1}]}", "neither YAML": "a: [", "no object": "- 1",
	} {
		if _, err := openapi.Declare([]byte(text), "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: wanted %q, got %v", text, want, err)
		}
	}
}

// A short document whose references lead to references is not written out.
func TestDocumentsThatExplode(t *testing.T) {
	t.Parallel()
	var bomb, aliases strings.Builder
	bomb.WriteString("{openapi: 3.1.0, paths: {/a: {post: {operationId: x, requestBody: {content: {application/json: {schema: {$ref: '#/s/n0'}}}}}}}, s: {")
	aliases.WriteString("openapi: 3.1.0\na0: &a0 [lol, lol]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "n%d: {type: object, properties: {a: {$ref: '#/s/n%d'}, b: {$ref: '#/s/n%d'}}}, ", i, i+1, i+1)
		fmt.Fprintf(&aliases, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	bomb.WriteString("n30: {type: string}}}")
	for want, text := range map[string]string{"more than 20000 parts": bomb.String(), "YAML aliases": aliases.String()} {
		_, err := openapi.Declare([]byte(text), "https://host.example", []openapi.Operation{{ID: "x"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}

func FuzzDeclare(f *testing.F) {
	f.Add(shop(f), "issueRefund")
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"x","parameters":[null,{"$ref":"#/paths"}]}}}}`), "x")
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		list, err := openapi.Declare(text, "https://host.example", []openapi.Operation{{ID: id}})
		if err == nil && !json.Valid(list[0].Parameters) {
			t.Errorf("parameters %s", list[0].Parameters)
		}
	})
}
