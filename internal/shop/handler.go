package shop

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Handler serves the shop:
//
//	GET  /customers?name=            customers of that name; all without one
//	GET  /customers/{id}
//	GET  /orders/{id}                with what was refunded already
//	POST /orders/{id}/refund         {"amount": 12.5}
//	POST /customers/{id}/reminders   {"message": "…"}
//	GET  /answers/{key}              what was answered to a request with that idempotency key
//
// Both POST requests honour the Idempotency-Key header for ever: the same key gets the
// same answer and has its effect once; with another request it is refused.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /customers", s.reading(s.listCustomers))
	mux.HandleFunc("GET /customers/{id}", s.reading(s.showCustomer))
	mux.HandleFunc("GET /orders/{id}", s.reading(s.showOrder))
	mux.HandleFunc("GET /answers/{key}", s.reading(s.showAnswer))
	mux.HandleFunc("POST /orders/{id}/refund", s.changing(s.refund))
	mux.HandleFunc("POST /customers/{id}/reminders", s.changing(s.remind))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusNotFound, problem("There is nothing at this address."))
	})
	return mux
}

// refusal is an answer that says no; nothing has changed.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func notFound(what string) error {
	return &refusal{http.StatusNotFound, "There is no such " + what + "."}
}

// problem is the body of a refusal.
func problem(message string) map[string]string { return map[string]string{"error": message} }

// queryer is what reads need: the database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Shop) reading(read func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := read(r)
		if err != nil {
			status, body := refused(err)
			write(w, status, body)
			return
		}
		write(w, http.StatusOK, value)
	}
}

// refused turns an error into an answer. What is not a refusal is our own fault.
func refused(err error) (int, any) {
	if no, ok := errors.AsType[*refusal](err); ok {
		return no.status, problem(no.message)
	}
	return http.StatusInternalServerError, problem("The shop is out of order.")
}

func write(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"The shop is out of order."}`)
	}
	writeRaw(w, status, body)
}

func writeRaw(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone cannot be told
}

// customer is a customer as it is shown.
type customer struct {
	ID      int64   `json:"id"`
	Name    string  `json:"name"`
	Balance float64 `json:"balance"`
}

func (s *Shop) listCustomers(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	rows, err := s.db.QueryContext(r.Context(), "SELECT id, name, balance FROM customers WHERE ?1 = '' OR name = ?1 ORDER BY id", name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []customer{}
	for rows.Next() {
		var c customer
		if err := rows.Scan(&c.ID, &c.Name, &c.Balance); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

func (s *Shop) showCustomer(r *http.Request) (any, error) {
	return findCustomer(r.Context(), s.db, r.PathValue("id"))
}

func findCustomer(ctx context.Context, q queryer, text string) (customer, error) {
	var c customer
	id, err := number(text, "customer")
	if err != nil {
		return c, err
	}
	err = q.QueryRowContext(ctx, "SELECT id, name, balance FROM customers WHERE id = ?", id).Scan(&c.ID, &c.Name, &c.Balance)
	if errors.Is(err, sql.ErrNoRows) {
		return c, notFound("customer")
	}
	return c, err
}

// order is an order as it is shown.
type order struct {
	ID        int64   `json:"id"`
	Customer  string  `json:"customer"`
	Amount    float64 `json:"amount"`
	Refunded  float64 `json:"refunded"`
	Status    string  `json:"status"`
	CreatedAt string  `json:"created_at"`
}

func (s *Shop) showOrder(r *http.Request) (any, error) {
	return findOrder(r.Context(), s.db, r.PathValue("id"))
}

func findOrder(ctx context.Context, q queryer, text string) (order, error) {
	var o order
	id, err := number(text, "order")
	if err != nil {
		return o, err
	}
	err = q.QueryRowContext(ctx, `SELECT o.id, c.name, o.amount, o.status, o.created_at,
		coalesce((SELECT sum(amount) FROM refunds WHERE order_id = o.id), 0)
		FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = ?`, id).
		Scan(&o.ID, &o.Customer, &o.Amount, &o.Status, &o.CreatedAt, &o.Refunded)
	if errors.Is(err, sql.ErrNoRows) {
		return o, notFound("order")
	}
	return o, err
}

func (s *Shop) showAnswer(r *http.Request) (any, error) {
	var body string
	err := s.db.QueryRowContext(r.Context(), "SELECT body FROM answers WHERE idempotency_key = ?", r.PathValue("key")).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound("key")
	}
	return json.RawMessage(body), err
}

// number reads an id; one that is no number names nothing.
func number(text, what string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, notFound(what)
	}
	return id, nil
}
