-- +goose Up
-- The words that were accepted, and what the server offers in their place until somebody accepts it.
ALTER TABLE pins ADD COLUMN contract TEXT NOT NULL DEFAULT '';
ALTER TABLE pins ADD COLUMN offered_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE pins ADD COLUMN offered TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE pins DROP COLUMN offered;
ALTER TABLE pins DROP COLUMN offered_hash;
ALTER TABLE pins DROP COLUMN contract;
