-- +goose Up
-- When each kind of what Slack sends was last seen, to the hour: Slack does not tell which
-- events an app subscribes to.
CREATE TABLE sightings (
    installation TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (installation, kind)
);

-- +goose Down
DROP TABLE sightings;
