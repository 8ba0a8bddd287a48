package main

import (
	"strings"
	"testing"

	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/internal/audit"
)

func TestPeopleAreEnrolledLockedAndUnlocked(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
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
	if got := d.must("approvals", "locked"); !strings.Contains(got, "nobody is locked") {
		t.Errorf("locked: %s", got)
	}
	d.fails("U0MGR is not locked", "approvals", "unlock", "U0MGR")
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
	d.must("audit", "verify")
}
