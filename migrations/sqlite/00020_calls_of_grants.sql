-- +goose Up
-- The calls that ran under a standing grant: it rests while the outcome of one is unknown.
CREATE INDEX steps_grant ON steps (grant_id) WHERE grant_id <> '';

-- +goose Down
DROP INDEX steps_grant;
