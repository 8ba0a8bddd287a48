-- +goose Up
-- Retention looks for the oldest runs that ended.
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at > 0;

-- +goose Down
DROP INDEX runs_ended;
