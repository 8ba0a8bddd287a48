-- +goose Up
-- An approval that one person gave alone in an emergency.
ALTER TABLE decisions ADD COLUMN glass BOOLEAN NOT NULL DEFAULT FALSE;

-- What others say of it afterwards.
CREATE TABLE reviews (
    approval   TEXT   NOT NULL PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    actor_team TEXT   NOT NULL,
    actor_user TEXT   NOT NULL,
    opened_at  BIGINT NOT NULL,
    state      TEXT   NOT NULL CHECK (state IN ('open', 'reviewed', 'concern')),
    by_team    TEXT   NOT NULL,
    by_user    TEXT   NOT NULL,
    text       TEXT   NOT NULL,
    at         BIGINT NOT NULL
);
CREATE INDEX reviews_open ON reviews (opened_at) WHERE state = 'open';

-- +goose Down
DROP TABLE reviews;
ALTER TABLE decisions DROP COLUMN glass;
