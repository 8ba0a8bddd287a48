-- +goose Up
-- Instants are microseconds since 1970 in UTC, 0 when there is none; JSON is
-- text, empty when there is none; states are those of the state tables in the code.
CREATE TABLE runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    installation TEXT    NOT NULL,
    channel      TEXT    NOT NULL,
    thread_ts    TEXT    NOT NULL,
    message_ts   TEXT    NOT NULL,
    asker_team   TEXT    NOT NULL,
    asker_user   TEXT    NOT NULL,
    request      TEXT    NOT NULL,
    language     TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('init', 'planning', 'executing', 'eval', 'reflect', 'waiting_approval', 'waiting_input', 'success', 'failed', 'cancelled')),
    halt         TEXT    NOT NULL,
    closing      TEXT    NOT NULL,
    answer       TEXT    NOT NULL,
    system       TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    limits       TEXT    NOT NULL,
    spent        TEXT    NOT NULL,
    counters     TEXT    NOT NULL,
    plan         TEXT    NOT NULL,
    turns        BIGINT  NOT NULL,
    next_step    BIGINT  NOT NULL,
    wake         BIGINT  NOT NULL,
    seen         BIGINT  NOT NULL,
    ready_at     BIGINT  NOT NULL,
    lease_owner  TEXT    NOT NULL,
    lease_epoch  BIGINT  NOT NULL,
    lease_until  BIGINT  NOT NULL,
    input_by     BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL,
    ended_at     BIGINT  NOT NULL,
    CHECK (seen <= wake),
    CHECK ((ended_at > 0) = (state IN ('success', 'failed', 'cancelled')))
);
CREATE UNIQUE INDEX runs_unfinished ON runs (installation, channel, thread_ts, asker_team, asker_user)
    WHERE state NOT IN ('success', 'failed', 'cancelled');
CREATE INDEX runs_due ON runs (ready_at)
    WHERE wake > seen AND state NOT IN ('success', 'failed', 'cancelled');
CREATE INDEX runs_thread ON runs (installation, channel, thread_ts, created_at);
CREATE INDEX runs_asker ON runs (installation, asker_team, asker_user, created_at);

CREATE TABLE turns (
    run       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n         BIGINT  NOT NULL,
    notes     TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    reasoning TEXT    NOT NULL,
    extra     TEXT    NOT NULL,
    usage     TEXT    NOT NULL,
    at        BIGINT  NOT NULL,
    UNIQUE (run, n)
);

CREATE TABLE steps (
    run         TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n           BIGINT  NOT NULL,
    turn        BIGINT  NOT NULL,
    call_id     TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    thought     TEXT    NOT NULL,
    raw         TEXT    NOT NULL,
    proposed    TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    extra       TEXT    NOT NULL,
    risk        TEXT    NOT NULL,
    effects     BOOLEAN NOT NULL,
    private     BOOLEAN NOT NULL,
    proposed_at BIGINT  NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('proposed', 'allowed', 'awaiting', 'asking', 'refused', 'answered', 'executing', 'succeeded', 'failed', 'uncertain', 'cancelled')),
    executed    TEXT    NOT NULL,
    observation TEXT    NOT NULL,
    output      TEXT    NOT NULL,
    summary     TEXT    NOT NULL,
    effect      TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    sources     TEXT    NOT NULL,
    approval    TEXT    NOT NULL,
    epoch       BIGINT  NOT NULL,
    attempts    BIGINT  NOT NULL,
    question    TEXT    NOT NULL,
    started_at  BIGINT  NOT NULL,
    ended_at    BIGINT  NOT NULL,
    UNIQUE (run, n)
);

-- A proposal is written once.
-- +goose StatementBegin
CREATE TRIGGER steps_proposal BEFORE UPDATE OF run, n, turn, call_id, tool, thought, raw, proposed, fingerprint, extra, risk, effects, private, proposed_at ON steps
BEGIN
    SELECT RAISE(ABORT, 'the proposal of a step never changes');
END;
-- +goose StatementEnd

-- n is the run's wake that the message raised, so it orders by arrival.
CREATE TABLE inbox (
    id          TEXT    NOT NULL PRIMARY KEY,
    run         TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n           BIGINT  NOT NULL,
    kind        TEXT    NOT NULL,
    from_team   TEXT    NOT NULL,
    from_user   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    ts          TEXT    NOT NULL,
    at          BIGINT  NOT NULL,
    turn        BIGINT  NOT NULL,
    consumed_at BIGINT  NOT NULL,
    UNIQUE (run, n)
);

-- Keys of what Slack sent and we have stored; they outlive redelivery.
CREATE TABLE event_keys (
    event_key TEXT    NOT NULL PRIMARY KEY,
    at        BIGINT  NOT NULL
);
CREATE INDEX event_keys_at ON event_keys (at);

-- +goose Down
DROP TABLE event_keys;
DROP TABLE inbox;
DROP TABLE steps;
DROP TABLE turns;
DROP TABLE runs;
