-- +goose Up
-- The tool's contract at the call: a call of unknown outcome is not repeated elsewhere.
ALTER TABLE steps ADD COLUMN contract TEXT NOT NULL DEFAULT '';
-- Who edited the arguments on an approval that this one replaces: "team/user team/user".
ALTER TABLE approvals ADD COLUMN shapers TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE approvals DROP COLUMN shapers;
ALTER TABLE steps DROP COLUMN contract;
