package httpapi

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"countersign/tools"
)

const orderSchema = `{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number"},"q":{"type":"string"}},"required":["order_id"]}`

func orderParameters(t testing.TB) parameters {
	t.Helper()
	p, err := readParameters(json.RawMessage(orderSchema))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTemplateRefusals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{order_id}://host/", "https://{order_id}/x", "https://host.{order_id}/x", "https://host:{order_id}/x", "https://user:pw@host/",
		"ftp://host/x", "//host/x", "/x", "https:///x", "https://host/x#{order_id}", "https://host/a{order_id}", "https://host/{order_id}.json",
		"https://host/{order_id}{q}", "https://host/{nobody}", "https://host/{order_id}/{order_id}", "https://host/{q}", "https://host/x?{q}=1",
		"https://host/x?a={q}b", "https://host/x?={q}", "https://host/../{order_id}", "https://host/%2e%2e/{order_id}", "https://host/%zz",
	} {
		if _, err := parseTemplate("POST", text, orderParameters(t)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	if _, err := parseTemplate("TRACE", "https://host/", orderParameters(t)); err == nil {
		t.Error("TRACE was accepted")
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, url, args, wantURL, wantBody string }{
		{"POST", "https://shop.example/orders/{order_id}/refund", `{"order_id":"7","amount":20.10}`, "https://shop.example/orders/7/refund", `{"amount":20.10}`},
		{"POST", "https://shop.example/orders/{order_id}", `{"order_id":"a b?c#d&e%f@:张"}`, "https://shop.example/orders/a%20b%3Fc%23d%26e%25f%40%3A%E5%BC%A0", `{}`},
		{"DELETE", "https://shop.example/orders/{order_id}", `{"order_id":"7"}`, "https://shop.example/orders/7", ""},
		{"GET", "https://shop.example/orders/{order_id}?v=1&find={q}", `{"order_id":"7","q":"x&admin=1","amount":12345678901234567890}`, "https://shop.example/orders/7?v=1&find=x%26admin%3D1&amount=12345678901234567890", ""},
		{"GET", "https://shop.example/orders/{order_id}?find={q}", `{"order_id":"7"}`, "https://shop.example/orders/7", ""},
		{"GET", "https://shop.example", `{"amount":[1,2]}`, "https://shop.example/?amount=1&amount=2", ""},
		{"POST", "https://shop.example/x", `{"q":"<b>&"}`, "https://shop.example/x", `{"q":"<b>&"}`},
	} {
		tpl, err := parseTemplate(c.method, c.url, orderParameters(t))
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		got, err := tpl.fill(json.RawMessage(c.args), true)
		if err != nil {
			t.Errorf("%s %s: %v", c.url, c.args, err)
			continue
		}
		if got.url != c.wantURL || string(got.body) != c.wantBody {
			t.Errorf("%s %s:\n got %s %s\nwant %s %s", c.url, c.args, got.url, got.body, c.wantURL, c.wantBody)
		}
	}
}

// TestFixedQueryValuesStay: where a tool takes arguments of any name, none takes the place
// of a value that its address gives.
func TestFixedQueryValuesStay(t *testing.T) {
	t.Parallel()
	p, err := readParameters(json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"additionalProperties":true}`))
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := parseTemplate("GET", "https://shop.example/orders?tenant=7&list%5B%5D=1&find={q}", p)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tenant", "Tenant", "tenant[]", "tenant[0]", " tenant", "list", "list[]", "find"} {
		args, err := json.Marshal(map[string]string{name: "8", "q": "x"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tpl.fill(args, true)
		if _, ok := errors.AsType[*tools.Failure](err); !ok {
			t.Errorf("%q: %s, %v", name, got.url, err)
		}
	}
	if got, err := tpl.fill(json.RawMessage(`{"page":2,"q":"x"}`), true); err != nil || got.url != "https://shop.example/orders?tenant=7&list%5B%5D=1&find=x&page=2" {
		t.Errorf("%s, %v", got.url, err)
	}
}

func TestFillRefusesWhatLeavesItsPlace(t *testing.T) {
	t.Parallel()
	tpl, err := parseTemplate("GET", "https://shop.example/orders/{order_id}?find={q}", orderParameters(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		`{}`, `{"order_id":""}`, `{"order_id":"."}`, `{"order_id":".."}`, `{"order_id":"..;x"}`, `{"order_id":"../admin"}`, `{"order_id":"a/b"}`,
		`{"order_id":"a\\b"}`, `{"order_id":"..%2fadmin"}`, `{"order_id":"%2e%2e"}`, `{"order_id":"%252e"}`, `{"order_id":"a\u0000"}`,
		`{"order_id":"a\r\nX: y"}`, `{"order_id":"a\u0085"}`, `{"order_id":"a／b"}`, `{"order_id":"．．"}`, `{"order_id":"‥"}`, `{"order_id":"％２ｆ"}`,
		`{"order_id":"x%3Fadmin=1"}`, `{"order_id":"x%23"}`, `{"order_id":"x%0d%0aHost:%20evil"}`, `{"order_id":".. "}`, `{"order_id":null}`, `{"order_id":["a"]}`, `{"order_id":{"a":1}}`,
		`{"order_id":"1","q":"a\nb"}`, `{"order_id":"1","q":{"a":1}}`, `{"order_id":"` + strings.Repeat("x", maxValue+1) + `"}`, `[]`,
	} {
		_, err := tpl.fill(json.RawMessage(args), true)
		if _, ok := errors.AsType[*tools.Failure](err); !ok {
			t.Errorf("%s: error %v, want a Failure", args, err)
		}
	}
}

// FuzzFill: whatever the arguments, the request goes to the declared host, has the
// declared number of segments and of query values, and the server reads back what was given.
func FuzzFill(f *testing.F) {
	for _, seed := range []string{"7", "..", "a/b", "%2e%2e", "a b", "@evil.example", "x?y=1#z", "\r\nHost: evil", "张三", "..;", "a\x00"} {
		f.Add(seed, seed)
	}
	p := orderParameters(f)
	tpl, err := parseTemplate("GET", "https://shop.example/orders/{order_id}/lines?find={q}&v=1", p)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, q string) {
		args, err := json.Marshal(map[string]string{"order_id": id, "q": q})
		if err != nil {
			t.Skip()
		}
		got, err := tpl.fill(args, true)
		if err != nil {
			return
		}
		u, err := url.Parse(got.url)
		if err != nil {
			t.Fatalf("%q: %v", got.url, err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		if u.Scheme != "https" || u.Host != "shop.example" || u.User != nil || u.Fragment != "" || len(segments) != 4 || len(u.Query()) != 2 {
			t.Fatalf("%q left its place: %q", id, got.url)
		}
		var want map[string]string
		if err := json.Unmarshal(args, &want); err != nil {
			t.Fatal(err)
		}
		if back, _ := url.PathUnescape(segments[2]); back != want["order_id"] || u.Query().Get("find") != want["q"] || u.Query().Get("v") != "1" {
			t.Fatalf("%q: the server would read %q and %q", got.url, back, u.Query().Get("find"))
		}
		if strings.Trim(segments[2], ".") == "" {
			t.Fatalf("%q is a dot segment", got.url)
		}
	})
}
