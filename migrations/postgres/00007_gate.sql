-- +goose Up
-- Rows that a transaction takes to count and write without others in between.
CREATE TABLE mutexes (
    name TEXT   NOT NULL PRIMARY KEY,
    n    BIGINT NOT NULL
);

-- What lowered risks were paid with; amounts are millionths.
CREATE TABLE budget_uses (
    budget TEXT   NOT NULL,
    run    TEXT   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step   BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    until  BIGINT NOT NULL,
    UNIQUE (run, step)
);
CREATE INDEX budget_uses_budget ON budget_uses (budget, at);
CREATE INDEX budget_uses_until ON budget_uses (until);

-- Who is at it, which reminders were given, and since when further roles are asked.
ALTER TABLE approvals ADD COLUMN claim_team TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN claim_user TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN claim_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN reminded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN escalated_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX approvals_asker ON approvals (requester_team, requester_user) WHERE state = 'pending';
CREATE INDEX approvals_waiting ON approvals (opened_at) WHERE state = 'pending';
CREATE INDEX approvals_settled ON approvals (state, settled_at);
CREATE INDEX steps_uncertain ON steps (started_at) WHERE state = 'uncertain';

-- People whose decisions do not count until an operator says so.
CREATE TABLE locks (
    team    TEXT   NOT NULL,
    user_id TEXT   NOT NULL,
    why     TEXT   NOT NULL,
    at      BIGINT NOT NULL,
    UNIQUE (team, user_id)
);

-- Second proofs. used is the time step of the last code that counted.
CREATE TABLE factors (
    team    TEXT   NOT NULL,
    user_id TEXT   NOT NULL,
    secret  TEXT   NOT NULL,
    used    BIGINT NOT NULL,
    tries   BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    UNIQUE (team, user_id)
);

-- What the removed beginning of the log ended with.
CREATE TABLE audit_checkpoints (
    id   BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    seq  BIGINT NOT NULL,
    hash TEXT   NOT NULL,
    at   BIGINT NOT NULL
);

-- +goose Down
DROP TABLE audit_checkpoints;
DROP TABLE factors;
DROP TABLE locks;
DROP INDEX steps_uncertain;
DROP INDEX approvals_settled;
DROP INDEX approvals_waiting;
DROP INDEX approvals_asker;
ALTER TABLE approvals DROP COLUMN escalated_at;
ALTER TABLE approvals DROP COLUMN reminded;
ALTER TABLE approvals DROP COLUMN claim_until;
ALTER TABLE approvals DROP COLUMN claim_user;
ALTER TABLE approvals DROP COLUMN claim_team;
DROP TABLE budget_uses;
DROP TABLE mutexes;
