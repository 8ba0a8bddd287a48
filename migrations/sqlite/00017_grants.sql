-- +goose Up
-- Standing grants: further calls like an approved one that run without a card.
CREATE TABLE grants (
    id             TEXT   NOT NULL PRIMARY KEY,
    installation   TEXT   NOT NULL,
    approval       TEXT   NOT NULL,
    channel        TEXT   NOT NULL,
    thread_ts      TEXT   NOT NULL,
    tool           TEXT   NOT NULL,
    contract       TEXT   NOT NULL,
    policy         TEXT   NOT NULL,
    requirement    TEXT   NOT NULL,
    asker_team     TEXT   NOT NULL,
    asker_user     TEXT   NOT NULL,
    args           TEXT   NOT NULL,
    fields         TEXT   NOT NULL,
    giver_team     TEXT   NOT NULL,
    giver_user     TEXT   NOT NULL,
    via            TEXT   NOT NULL,
    reason         TEXT   NOT NULL,
    most           BIGINT NOT NULL,
    used           BIGINT NOT NULL CHECK (used <= most),
    opened_at      BIGINT NOT NULL,
    ends_at        BIGINT NOT NULL,
    state          TEXT   NOT NULL CHECK (state IN ('open', 'ended', 'revoked', 'void')),
    why            TEXT   NOT NULL,
    by_team        TEXT   NOT NULL,
    by_user        TEXT   NOT NULL,
    settled_at     BIGINT NOT NULL
);
CREATE INDEX grants_open ON grants (tool) WHERE state = 'open';
CREATE INDEX grants_approval ON grants (approval);

-- Under whose grant a call ran without a card.
ALTER TABLE steps ADD COLUMN grant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN grant_team TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN grant_user TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE steps DROP COLUMN grant_user;
ALTER TABLE steps DROP COLUMN grant_team;
ALTER TABLE steps DROP COLUMN grant_id;
DROP TABLE grants;
