package main

import (
	"maps"
	"strings"
	"testing"

	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/internal/audit"
)

func TestPeopleAreEnrolledLockedAndUnlocked(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{})
	d.fails("openssl rand -base64 32", "approvals", "enroll", "U0MGR")
	d.write(strings.Replace(d.text, "approvals: {", `approvals: {totp_key: "${CODES_KEY}", `, 1))
	out := d.must("approvals", "enroll", "U0MGR")
	_, secret, _ := strings.Cut(out, "secret: ")
	if len(strings.TrimSpace(secret)) < 16 || !strings.Contains(out, "otpauth://totp/") {
		t.Errorf("enrolled: %s", out)
	}
	// It is shown once: neither the record nor a second enrolment gives it again.
	if record := d.must("audit", "export"); !strings.Contains(record, "person.enrolled") || strings.Contains(record, strings.TrimSpace(secret)) {
		t.Error("the record lacks the enrolment, or holds the secret")
	}
	if again := d.must("approvals", "enroll", "U0MGR"); strings.Contains(again, strings.TrimSpace(secret)) {
		t.Error("a secret was given twice")
	}
	// Another key cannot read it; an operator may seal it with that key.
	d.env["CODES_KEY"] = apptest.CodesKeyBefore
	if got := d.run("doctor"); !strings.Contains(got.out, "do not count: U0MGR") {
		t.Errorf("doctor: %s", got.out)
	}
	d.write(strings.Replace(d.text, "totp_key:", "totp_old_keys: ["+apptest.CodesKey+"], totp_key:", 1))
	if got := d.must("migrate"); !strings.Contains(got, "Sealed with approvals.totp_key: the secret of one-time codes of U0MGR.") {
		t.Errorf("migrate: %s", got)
	}
	if got := d.must("migrate"); strings.Contains(got, "U0MGR") {
		t.Errorf("a second time: %s", got)
	}
	if got := d.must("approvals", "locked"); !strings.Contains(got, "nobody is locked") {
		t.Errorf("locked: %s", got)
	}
	d.fails("U0MGR is not locked", "approvals", "unlock", "U0MGR")
	// The database knows the workspace: no secret of Slack's is needed.
	tokens := map[string]string{}
	for _, name := range []string{"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"} {
		tokens[name] = d.env[name]
		delete(d.env, name)
	}
	d.fails("not the Slack id of a person", "approvals", "enroll", "mgr")
	if again := d.must("approvals", "enroll", "U0MGR"); !strings.Contains(again, "otpauth://totp/") {
		t.Errorf("enrolled without Slack: %s", again)
	}
	_, err := d.Newest().Store().Lock(t.Context(), policy.Actor{Team: "T0LOCAL", User: "U0MGR"}, "5 wrong codes", nil,
		[]audit.Entry{{Kind: "person.locked", Via: "slack", Data: "{}"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.must("approvals", "locked"); !strings.Contains(got, "U0MGR") || !strings.Contains(got, "5 wrong codes") {
		t.Errorf("locked: %s", got)
	}
	d.must("approvals", "unlock", "U0MGR")
	if got := d.must("approvals", "locked"); !strings.Contains(got, "nobody is locked") {
		t.Errorf("after unlock: %s", got)
	}
	d.write(strings.Replace(d.text, "approvals: {", "approvals: {cli: true, ", 1))
	d.fails("SLACK_BOT_TOKEN (xoxb-…) is needed", "approvals", "decide", approval, "approve", "--by", "U0MGR", "--reason", "x")
	maps.Copy(d.env, tokens)
	d.must("audit", "verify")
}
