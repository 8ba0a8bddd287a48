-- +goose Up
-- What a step gave beside text, for people: a table, a chart. The content is base64.
CREATE TABLE attachments (
    run     TEXT   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step    BIGINT NOT NULL,
    n       BIGINT NOT NULL,
    name    TEXT   NOT NULL,
    mime    TEXT   NOT NULL,
    content TEXT   NOT NULL,
    UNIQUE (run, step, n)
);

-- +goose Down
DROP TABLE attachments;
