-- +goose Up
-- A sequence without gaps; every hash covers its row and the hash before it.
CREATE TABLE audit_entries (
    seq      BIGINT  NOT NULL PRIMARY KEY,
    at       BIGINT  NOT NULL,
    kind     TEXT    NOT NULL,
    run      TEXT    NOT NULL,
    step     BIGINT  NOT NULL,
    approval TEXT    NOT NULL,
    revision BIGINT  NOT NULL,
    team     TEXT    NOT NULL,
    user_id  TEXT    NOT NULL,
    via      TEXT    NOT NULL,
    digest   TEXT    NOT NULL,
    data     TEXT    NOT NULL,
    prev     TEXT    NOT NULL,
    hash     TEXT    NOT NULL
);
CREATE INDEX audit_entries_run ON audit_entries (run, seq);

-- The last entry's number and hash, in the one row that every writer takes in turn.
CREATE TABLE audit_head (
    id   BIGINT  NOT NULL PRIMARY KEY CHECK (id = 1),
    seq  BIGINT  NOT NULL,
    hash TEXT    NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '');

-- +goose Down
DROP TABLE audit_head;
DROP TABLE audit_entries;
