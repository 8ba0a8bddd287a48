package shop_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/shop"
	"countersign/tools"
	"countersign/tools/httpapi"
	"countersign/tools/sqldb"
)

// hands are the tools that an agent has over a shop.
type hands struct {
	shop     *shop.Shop
	registry *tools.Registry
}

func newHands(t *testing.T) hands {
	t.Helper()
	dir := t.TempDir()
	s, base := open(t, dir)
	all, _, err := sqldb.New([]sqldb.Database{{Name: "shop", URL: "sqlite:" + filepath.Join(dir, shop.File), Write: true, Private: true}}, sqldb.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []httpapi.Tool{
		{
			Name: "find_customer", Description: "Find customers by name.", URL: base + "/customers?name={name}", PrivateNetwork: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		},
		{
			Name: "get_order", Description: "Look at an order.", URL: base + "/orders/{order_id}", PrivateNetwork: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}`),
		},
		{
			Name: "send_topup_reminder", Description: "Remind a customer to top up.", Method: "POST", URL: base + "/customers/{customer_id}/reminders",
			Risk: tools.Medium, Idempotent: true, PrivateNetwork: true, Probe: &httpapi.Read{URL: base + "/answers/{idempotency_key}", Fields: []string{"reminder"}},
			Parameters: json.RawMessage(`{"type":"object","properties":{"customer_id":{"type":"integer"},"message":{"type":"string"}},"required":["customer_id","message"]}`),
		},
		{
			Name: "refund", Description: "Refund an order.", Method: "POST", URL: base + "/orders/{order_id}/refund", Idempotent: true, PrivateNetwork: true,
			Preview:    &httpapi.Read{URL: base + "/orders/{order_id}", Fields: []string{"customer", "amount", "refunded", "status"}},
			Probe:      &httpapi.Read{URL: base + "/answers/{idempotency_key}", Fields: []string{"refund"}},
			Parameters: json.RawMessage(`{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number","exclusiveMinimum":0}},"required":["order_id","amount"]}`),
		},
	} {
		tool, err := httpapi.New(cfg, httpapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return hands{shop: s, registry: registry}
}

func (h hands) tool(t *testing.T, name string) tools.Tool {
	t.Helper()
	tool, ok := h.registry.Get(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool
}

// call calls a tool, after its preview where it shows one, and gives what the model reads.
func (h hands) call(t *testing.T, name, args string) string {
	t.Helper()
	tool := h.tool(t, name)
	c := tools.Call{Run: "run1", Step: "1", Args: json.RawMessage(args)}
	if previewer, ok := tool.(tools.Previewer); ok && tool.Spec().Risk == tools.High {
		shown, err := previewer.Preview(t.Context(), c)
		if err != nil {
			return err.Error()
		}
		c.Preview = &shown
	}
	result, err := tool.Call(t.Context(), c)
	if err != nil {
		return err.Error()
	}
	return result.Text
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("lacks %q:\n%s", part, got)
		}
	}
}

func TestBalanceAndReminder(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	expect(t, h.call(t, "query_sql", `{"sql":"SELECT id, name, balance FROM customers WHERE name = '张三'"}`), "id | name | balance\n1 | 张三 | 42.5\n(1 row)")
	expect(t, h.call(t, "find_customer", `{"name":"张三"}`), `"balance": 42.5`)
	const reminder = `{"customer_id":1,"message":"您的余额为 42.5"}`
	for range 2 {
		expect(t, h.call(t, "send_topup_reminder", reminder), "HTTP 201 Created", `"reminder": 1`)
	}
	effects, err := h.shop.Effects(t.Context())
	if err != nil || len(effects) != 2 || effects[0].Outcome != "done" || effects[1].Outcome != "replayed" || effects[0].Key != "run1-1" {
		t.Errorf("effects %+v, %v", effects, err)
	}
	probed, err := h.tool(t, "send_topup_reminder").(tools.Prober).Probe(t.Context(), tools.Call{Run: "run1", Step: "1", Args: json.RawMessage(reminder)})
	if err != nil || probed != tools.ProbedHappened {
		t.Errorf("probe: %s, %v", probed, err)
	}
	probed, err = h.tool(t, "refund").(tools.Prober).Probe(t.Context(), tools.Call{Run: "run1", Step: "2", Args: json.RawMessage(`{"order_id":"9","amount":1}`)})
	if err != nil || probed != tools.ProbedNot {
		t.Errorf("probe of what was not sent: %s, %v", probed, err)
	}
}

func TestOrdersByWeek(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	expect(t, h.call(t, "query_sql", `{"sql":"SELECT week, COUNT(*) FROM orders GROUP BY week"}`), "no such column: week", "Columns of orders: id, customer_id, amount, status, created_at.")
	expect(t, h.call(t, "get_schema", `{}`), "orders\n", "  created_at TEXT not null")
	expect(t, h.call(t, "query_sql", `{"sql":"SELECT strftime('%Y-%W', created_at) AS week, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY week ORDER BY week"}`),
		"week | orders | total\n2026-44 | 2 | 300\n", "(4 rows)")
}

func TestUpdateOfAnOrder(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	expect(t, h.call(t, "execute_sql", `{"sql":"UPDATE orders SET status = 'shipped' WHERE id = 7"}`), "Done: updated 1 row in shop.orders.")
	expect(t, h.call(t, "get_order", `{"order_id":"7"}`), `"status": "shipped"`)
}

func TestLargeRefund(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	expect(t, h.call(t, "get_order", `{"order_id":"9"}`), `"amount": 1800`, `"status": "paid"`)
	shown, err := h.tool(t, "refund").(tools.Previewer).Preview(t.Context(), tools.Call{Run: "run1", Step: "1", Args: json.RawMessage(`{"amount":1500,"order_id":"9"}`)})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, shown.Detail, "/orders/9/refund", `"amount": 1500`, "Now:\ncustomer: \"Ana\"\namount: 1800\nrefunded: 0\nstatus: \"paid\"")
	expect(t, h.call(t, "refund", `{"amount":1500,"order_id":"9"}`), "HTTP 201 Created", `"left": 300`)
	expect(t, h.call(t, "refund", `{"amount":5,"order_id":"99"}`), "http_404", "There is no such order.")
}
