-- +goose Up
-- A tool may change while its call waits for a person: what it does by now is added to the
-- step when it is called, and never taken away.
DROP TRIGGER steps_proposal;
-- +goose StatementBegin
CREATE TRIGGER steps_proposal BEFORE UPDATE OF run, n, turn, call_id, tool, thought, raw, proposed, fingerprint, extra, risk, proposed_at ON steps
BEGIN
    SELECT RAISE(ABORT, 'the proposal of a step never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER steps_traits BEFORE UPDATE OF effects, private ON steps
    WHEN OLD.effects AND NOT NEW.effects OR OLD.private AND NOT NEW.private
BEGIN
    SELECT RAISE(ABORT, 'the proposal of a step never changes');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER steps_traits;
DROP TRIGGER steps_proposal;
-- +goose StatementBegin
CREATE TRIGGER steps_proposal BEFORE UPDATE OF run, n, turn, call_id, tool, thought, raw, proposed, fingerprint, extra, risk, effects, private, proposed_at ON steps
BEGIN
    SELECT RAISE(ABORT, 'the proposal of a step never changes');
END;
-- +goose StatementEnd
