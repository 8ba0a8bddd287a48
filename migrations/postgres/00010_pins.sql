-- +goose Up
-- What the tools of MCP servers promised when they were first seen, or last accepted.
CREATE TABLE pins (
    server TEXT   NOT NULL,
    tool   TEXT   NOT NULL,
    hash   TEXT   NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
);

-- +goose Down
DROP TABLE pins;
