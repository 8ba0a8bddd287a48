-- +goose Up
CREATE TABLE clicks (
    id         TEXT    NOT NULL PRIMARY KEY,
    action     TEXT    NOT NULL,
    team       TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    message_ts TEXT    NOT NULL,
    run        TEXT    NOT NULL,
    step       BIGINT  NOT NULL,
    approval   TEXT    NOT NULL,
    revision   BIGINT  NOT NULL,
    digest     TEXT    NOT NULL,
    input      TEXT    NOT NULL,
    at         BIGINT  NOT NULL,
    outcome    TEXT    NOT NULL,
    ended_at   BIGINT  NOT NULL
);
CREATE INDEX clicks_open ON clicks (at) WHERE ended_at = 0;

-- One row a subject: what is wanted, what was delivered, and who is at it.
CREATE TABLE deliveries (
    subject     TEXT    NOT NULL PRIMARY KEY,
    channel     TEXT    NOT NULL,
    thread_ts   TEXT    NOT NULL,
    priority    BIGINT  NOT NULL,
    version     BIGINT  NOT NULL,
    done        BIGINT  NOT NULL,
    since       BIGINT  NOT NULL,
    ready_at    BIGINT  NOT NULL,
    posted_ts   TEXT    NOT NULL,
    hash        TEXT    NOT NULL,
    intended    BOOLEAN NOT NULL,
    gone        BOOLEAN NOT NULL,
    attempts    BIGINT  NOT NULL,
    failure     TEXT    NOT NULL,
    lease_owner TEXT    NOT NULL,
    lease_epoch BIGINT  NOT NULL,
    lease_until BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (priority, since) WHERE version > done;

-- When a method may be called next in a channel; an empty channel is everywhere.
CREATE TABLE paces (
    method  TEXT    NOT NULL,
    channel TEXT    NOT NULL,
    next_at BIGINT  NOT NULL,
    UNIQUE (method, channel)
);

-- Which replica does a periodic job, and until when.
CREATE TABLE elections (
    name  TEXT    NOT NULL PRIMARY KEY,
    owner TEXT    NOT NULL,
    until BIGINT  NOT NULL
);

-- +goose Down
DROP TABLE elections;
DROP TABLE paces;
DROP TABLE deliveries;
DROP TABLE clicks;
