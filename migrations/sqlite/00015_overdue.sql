-- +goose Up
-- What the sweeps look for each few seconds, and nothing else.
CREATE INDEX approvals_unreminded ON approvals (reminded, expires_at) WHERE state = 'pending';
CREATE INDEX approvals_unescalated ON approvals (opened_at) WHERE state = 'pending' AND escalated_at = 0;

-- +goose Down
DROP INDEX approvals_unescalated;
DROP INDEX approvals_unreminded;
