-- +goose Up
CREATE TABLE approvals (
    id             TEXT    NOT NULL PRIMARY KEY,
    run            TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step           BIGINT  NOT NULL,
    tool           TEXT    NOT NULL,
    risk           TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    thread_ts      TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'answered', 'expired', 'cancelled', 'superseded', 'redeemed', 'lapsed')),
    revision       BIGINT  NOT NULL,
    version        BIGINT  NOT NULL,
    opened_at      BIGINT  NOT NULL,
    expires_at     BIGINT  NOT NULL,
    settled_at     BIGINT  NOT NULL,
    requester_team TEXT    NOT NULL,
    requester_user TEXT    NOT NULL,
    again          TEXT    NOT NULL,
    why            TEXT    NOT NULL
);
CREATE UNIQUE INDEX approvals_open ON approvals (run, step) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_due ON approvals (state, expires_at);
CREATE INDEX approvals_run ON approvals (run, step);

CREATE TABLE revisions (
    approval    TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    n           BIGINT  NOT NULL,
    args        TEXT    NOT NULL,
    requirement TEXT    NOT NULL,
    contract    TEXT    NOT NULL,
    preview     TEXT    NOT NULL,
    digest      TEXT    NOT NULL,
    by_team     TEXT    NOT NULL,
    by_user     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    at          BIGINT  NOT NULL,
    UNIQUE (approval, n)
);

-- n orders the decisions of one approval.
CREATE TABLE decisions (
    id       TEXT    NOT NULL PRIMARY KEY,
    approval TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    n        BIGINT  NOT NULL,
    revision BIGINT  NOT NULL,
    verdict  TEXT    NOT NULL CHECK (verdict IN ('approve', 'edit', 'reject', 'respond', 'expire')),
    by_team  TEXT    NOT NULL,
    by_user  TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    via      TEXT    NOT NULL,
    void     BOOLEAN NOT NULL,
    at       BIGINT  NOT NULL,
    UNIQUE (approval, n)
);

-- Who was shown everything of a revision.
CREATE TABLE openings (
    approval TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    revision BIGINT  NOT NULL,
    team     TEXT    NOT NULL,
    user_id  TEXT    NOT NULL,
    at       BIGINT  NOT NULL,
    UNIQUE (approval, revision, team, user_id)
);

-- +goose Down
DROP TABLE openings;
DROP TABLE decisions;
DROP TABLE revisions;
DROP TABLE approvals;
