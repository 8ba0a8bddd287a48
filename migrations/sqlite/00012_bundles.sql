-- +goose Up
-- The first step of those that one press may decide together; 0: none.
ALTER TABLE approvals ADD COLUMN bundle BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE approvals DROP COLUMN bundle;
