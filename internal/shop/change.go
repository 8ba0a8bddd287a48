package shop

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// maxBody is the largest body that the shop reads, in bytes.
const maxBody = 64 << 10

// request is a request that is to change something.
type request struct {
	id   string // of the order or customer
	name string // method and path, for the record
	key  string // idempotency key
	body []byte
}

// changing runs a change, its answer and its record in one transaction.
func (s *Shop) changing(change func(context.Context, *sql.Tx, request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			write(w, http.StatusRequestEntityTooLarge, problem("The request is too large."))
			return
		}
		req := request{id: r.PathValue("id"), name: r.Method + " " + r.URL.Path, key: r.Header.Get("Idempotency-Key"), body: body}
		status, answer, err := s.once(r.Context(), req, change)
		if err != nil {
			code, value := refused(err)
			write(w, code, value)
			return
		}
		writeRaw(w, status, answer)
	}
}

// once gives the stored answer to a key that is known, and otherwise runs the change.
func (s *Shop) once(ctx context.Context, req request, change func(context.Context, *sql.Tx, request) (any, error)) (int, []byte, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	status, body, err := replay(ctx, tx, req)
	switch {
	case err != nil:
		return 0, nil, s.refuse(ctx, tx, req, err)
	case status != 0:
		return status, body, s.record(ctx, tx, req, "replayed")
	}
	value, err := change(ctx, tx, req)
	if err != nil {
		return 0, nil, s.refuse(ctx, tx, req, err)
	}
	if body, err = json.Marshal(value); err != nil {
		return 0, nil, err
	}
	if err := remember(ctx, tx, req, body); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, body, s.record(ctx, tx, req, "done")
}

// replay looks for the answer to the request's key; status 0 means that there is none.
func replay(ctx context.Context, tx *sql.Tx, req request) (status int, body []byte, err error) {
	if req.key == "" {
		return 0, nil, nil
	}
	var earlier string
	err = tx.QueryRowContext(ctx, "SELECT request, status, body FROM answers WHERE idempotency_key = ?", req.key).Scan(&earlier, &status, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil, nil
	case err == nil && earlier != req.fingerprint():
		return 0, nil, &refusal{http.StatusUnprocessableEntity, "The idempotency key was used for another request."}
	}
	return status, body, err
}

// fingerprint tells requests apart that carry the same key.
func (r request) fingerprint() string {
	var body bytes.Buffer
	if json.Compact(&body, r.body) != nil {
		return r.name + " " + string(r.body)
	}
	return r.name + " " + body.String()
}

func remember(ctx context.Context, tx *sql.Tx, req request, body []byte) error {
	if req.key == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO answers (idempotency_key, request, status, body) VALUES (?, ?, ?, ?)",
		req.key, req.fingerprint(), http.StatusCreated, string(body))
	return err
}

// record appends to the record and commits with it.
func (s *Shop) record(ctx context.Context, tx *sql.Tx, req request, outcome string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (at, request, idempotency_key, outcome) VALUES (?, ?, ?, ?)",
		s.stamp(), req.name, req.key, outcome)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// refuse records a refusal; a change says no before it changes anything.
func (s *Shop) refuse(ctx context.Context, tx *sql.Tx, req request, why error) error {
	if _, ok := errors.AsType[*refusal](why); !ok {
		return why
	}
	return errors.Join(why, s.record(ctx, tx, req, "refused"))
}

func (s *Shop) stamp() string { return s.now().UTC().Format(time.RFC3339) }

// refund pays a part of an order back.
func (s *Shop) refund(ctx context.Context, tx *sql.Tx, req request) (any, error) {
	var asked struct {
		Amount float64 `json:"amount"`
	}
	if err := strict(req.body, &asked); err != nil {
		return nil, err
	}
	o, err := findOrder(ctx, tx, req.id)
	if err != nil {
		return nil, err
	}
	amount, left := cents(asked.Amount), cents(o.Amount)-cents(o.Refunded)
	switch {
	case amount <= 0 || math.Abs(asked.Amount*100-float64(amount)) > 1e-6:
		return nil, &refusal{http.StatusUnprocessableEntity, "The amount must be more than nothing and have at most two decimals."}
	case o.Status == "open":
		return nil, &refusal{http.StatusConflict, "The order is not paid yet."}
	case amount > left:
		return nil, &refusal{http.StatusConflict, "The order has " + euros(left) + " left to refund."}
	}
	return s.pay(ctx, tx, o, amount, left)
}

// paid is the answer to a refund.
type paid struct {
	Refund int64   `json:"refund"`
	Order  int64   `json:"order"`
	Amount float64 `json:"amount"`
	Left   float64 `json:"left"`
}

func (s *Shop) pay(ctx context.Context, tx *sql.Tx, o order, amount, left int64) (any, error) {
	done, err := tx.ExecContext(ctx, "INSERT INTO refunds (order_id, amount, created_at) VALUES (?, ?, ?)", o.ID, float64(amount)/100, s.stamp())
	if err != nil {
		return nil, err
	}
	if amount == left {
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET status = 'refunded' WHERE id = ?", o.ID); err != nil {
			return nil, err
		}
	}
	id, err := done.LastInsertId()
	return paid{Refund: id, Order: o.ID, Amount: float64(amount) / 100, Left: float64(left-amount) / 100}, err
}

// remind sends a customer a reminder; sending means keeping it.
func (s *Shop) remind(ctx context.Context, tx *sql.Tx, req request) (any, error) {
	var asked struct {
		Message string `json:"message"`
	}
	if err := strict(req.body, &asked); err != nil {
		return nil, err
	}
	c, err := findCustomer(ctx, tx, req.id)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(asked.Message) == "" {
		return nil, &refusal{http.StatusUnprocessableEntity, "The reminder has no text."}
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO reminders (customer_id, message, created_at) VALUES (?, ?, ?)", c.ID, asked.Message, s.stamp())
	if err != nil {
		return nil, err
	}
	id, err := done.LastInsertId()
	return map[string]any{"reminder": id, "customer": c.Name, "sent": true}, err
}

// strict reads a JSON object without unknown members.
func strict(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &refusal{http.StatusBadRequest, "The request's body cannot be read."}
	}
	return nil
}

// cents is an amount in hundredths, in which it can be compared.
func cents(amount float64) int64 { return int64(math.Round(amount * 100)) }

func euros(cents int64) string {
	text, err := json.Marshal(float64(cents) / 100)
	if err != nil {
		return "an amount"
	}
	return string(text) + " EUR"
}
