package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"countersign/tools/httpapi"
)

func orders(base string, p httpapi.Pages) httpapi.Tool {
	return httpapi.Tool{
		Name: "orders", Description: "Orders.", URL: base + "/orders", Headers: map[string]string{"Authorization": "Bearer topsecret-token"},
		PrivateNetwork: true, Pages: &p,
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	var base string
	var asked []string
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer topsecret-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked = append(asked, r.RequestURI)
		page := r.URL.Query().Get("page")
		switch r.URL.Query().Get("how") + page {
		case "", "3":
			w.Header().Add("Link", `</orders?page=1>; rel="prev first", </orders?page=2>;title="x"; rel="next"`)
			fmt.Fprint(w, `[1]`)
		case "2":
			w.Header().Set("Link", `<`+base+`/orders?page=3>; rel=next`)
			fmt.Fprint(w, `[2]`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, c := range []struct {
		limit int
		want  string
		asks  int
	}{
		{2, "HTTP 200 OK\n[\n  1,\n  2\n]\n(there is more, which was not read)", 2},
		{9, "HTTP 200 OK\n[\n  1,\n  2,\n  1\n]\n(the next part is one that was read already)", 3},
	} {
		asked = nil
		res, err := newTool(t, orders(base, httpapi.Pages{Next: "link", Limit: c.limit})).Call(t.Context(), args(`{}`))
		if err != nil || res.Text != c.want || len(asked) != c.asks {
			t.Errorf("limit %d: %q, %v, asked %v", c.limit, res.Text, err, asked)
		}
	}
}

func TestPagesNamedInTheAnswer(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		`"?page=2"`:                   "part 2 of 2\n{\n  \"items\": [\n    2",
		`null`:                        "\"items\": [\n    1",
		`"https://evil.example/x"`:    "(the next part is of another service, which is not asked)",
		`"//evil.example/x"`:          "(the next part is of another service, which is not asked)",
		`"http://a:b@127.0.0.1/"`:     "(the next part is of another service, which is not asked)",
		`"?page=broken"`:              "(part 2 could not be read)",
		`"http://[::1/topsecret-tok"`: "(the address of the next part cannot be read)",
	} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("page") {
			case "":
				fmt.Fprintf(w, `{"items":[1],"paging":{"next":%s}}`, next)
			case "2":
				fmt.Fprint(w, `{"items":[2],"paging":{}}`)
			default:
				w.WriteHeader(http.StatusBadGateway)
			}
		})
		res, err := newTool(t, orders(base, httpapi.Pages{Next: "paging.next", Limit: 5})).Call(t.Context(), args(`{}`))
		if err != nil || !strings.Contains(res.Text, want) || !strings.Contains(res.Text, "1") {
			t.Errorf("%s: %q, %v", next, res.Text, err)
		}
	}
}

func TestPagesThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*httpapi.Tool){
		"only a GET":       func(c *httpapi.Tool) { c.Method = "POST" },
		"that reads":       func(c *httpapi.Tool) { c.Risk = "high" },
		"needs next":       func(c *httpapi.Tool) { c.Pages.Next = "" },
		"limit from 2":     func(c *httpapi.Tool) { c.Pages.Limit = 1 },
		"limit from 2 to ": func(c *httpapi.Tool) { c.Pages.Limit = 51 },
	} {
		c := orders("https://host.example", httpapi.Pages{Next: "link", Limit: 5})
		change(&c)
		if _, err := httpapi.New(c, httpapi.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}
