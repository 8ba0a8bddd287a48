-- +goose Up
-- The trace that a run belongs to, who answers for one that no person asked for, and
-- what it used, as numbers that can be added up: tokens, and millionths of the currency.
ALTER TABLE runs ADD COLUMN trace TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN owner_team TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN owner_user TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cost BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_day ON runs (installation, created_at);

-- Tokens of the HTTP interface. Only their hashes are kept.
CREATE TABLE api_tokens (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL UNIQUE,
    hash       TEXT   NOT NULL UNIQUE,
    scope      TEXT   NOT NULL CHECK (scope IN ('ask', 'decide')),
    team       TEXT   NOT NULL,
    user_id    TEXT   NOT NULL,
    roles      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE api_tokens;
DROP INDEX runs_day;
ALTER TABLE runs DROP COLUMN cost;
ALTER TABLE runs DROP COLUMN tokens;
ALTER TABLE runs DROP COLUMN owner_user;
ALTER TABLE runs DROP COLUMN owner_team;
ALTER TABLE runs DROP COLUMN trace;
