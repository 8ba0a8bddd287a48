CREATE TABLE IF NOT EXISTS customers (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  balance NUMERIC NOT NULL -- prepaid, in EUR
);
CREATE TABLE IF NOT EXISTS orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  amount      NUMERIC NOT NULL, -- in EUR
  status      TEXT NOT NULL,    -- open, paid, shipped, delivered, refunded
  created_at  TEXT NOT NULL     -- RFC 3339, UTC
);
CREATE TABLE IF NOT EXISTS refunds (
  id         INTEGER PRIMARY KEY,
  order_id   INTEGER NOT NULL REFERENCES orders (id),
  amount     NUMERIC NOT NULL, -- in EUR
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS reminders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  message     TEXT NOT NULL,
  created_at  TEXT NOT NULL
);
-- What was answered to a request with an idempotency key, to be answered again.
CREATE TABLE IF NOT EXISTS answers (
  idempotency_key TEXT PRIMARY KEY,
  request         TEXT NOT NULL, -- method, path and body
  status          INTEGER NOT NULL,
  body            TEXT NOT NULL
);
-- Every request that was to change something; only appended to.
CREATE TABLE IF NOT EXISTS effects (
  id              INTEGER PRIMARY KEY,
  at              TEXT NOT NULL,
  request         TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  outcome         TEXT NOT NULL CHECK (outcome IN ('done', 'replayed', 'refused'))
);
CREATE TRIGGER IF NOT EXISTS effects_keep BEFORE UPDATE ON effects BEGIN SELECT raise(ABORT, 'effects are only appended to'); END;
CREATE TRIGGER IF NOT EXISTS effects_stay BEFORE DELETE ON effects BEGIN SELECT raise(ABORT, 'effects are only appended to'); END;
