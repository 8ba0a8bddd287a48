-- +goose Up
-- What the call of the model that a run makes now may use, until it is known what it
-- did use: counted against the allowances of the day while the run's lease holds.
ALTER TABLE runs ADD COLUMN held_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN held_cost BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE runs DROP COLUMN held_cost;
ALTER TABLE runs DROP COLUMN held_tokens;
