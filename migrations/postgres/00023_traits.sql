-- +goose Up
-- A tool may change while its call waits for a person: what it does by now is added to the
-- step when it is called, and never taken away.
DROP TRIGGER steps_proposal ON steps;
CREATE TRIGGER steps_proposal BEFORE UPDATE OF run, n, turn, call_id, tool, thought, raw, proposed, fingerprint, extra, risk, proposed_at ON steps
    FOR EACH ROW EXECUTE FUNCTION steps_proposal();
CREATE TRIGGER steps_traits BEFORE UPDATE OF effects, private ON steps
    FOR EACH ROW WHEN (OLD.effects AND NOT NEW.effects OR OLD.private AND NOT NEW.private) EXECUTE FUNCTION steps_proposal();

-- +goose Down
DROP TRIGGER steps_traits ON steps;
DROP TRIGGER steps_proposal ON steps;
CREATE TRIGGER steps_proposal BEFORE UPDATE OF run, n, turn, call_id, tool, thought, raw, proposed, fingerprint, extra, risk, effects, private, proposed_at ON steps
    FOR EACH ROW EXECUTE FUNCTION steps_proposal();
