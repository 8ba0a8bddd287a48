package main

import (
	"strings"
	"testing"

	"countersign/internal/api"
	"countersign/internal/apptest"
)

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	if out := d.must("tokens", "list"); out != "no tokens\n" {
		t.Errorf("tokens from nowhere: %s", out)
	}
	made := strings.TrimSpace(d.must("tokens", "create", "deploy", "--user", "U0MGR", "--scope", "ask", "--roles", "manager"))
	d.fails("names are used once", "tokens", "create", "deploy", "--user", "U0MGR", "--scope", "ask")
	d.fails("There is no role", "tokens", "create", "other", "--user", "U0MGR", "--scope", "ask", "--roles", "kings")
	d.fails("--roles is for tokens that ask", "tokens", "create", "other", "--user", "U0MGR", "--scope", "decide", "--roles", "manager")
	d.fails("id of a person", "tokens", "create", "other", "--user", "ana", "--scope", "ask")
	list := d.must("tokens", "list")
	for _, want := range []string{"deploy", "ask", "U0MGR", "manager", "valid"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s:\n%s", want, list)
		}
	}
	found, err := d.Newest().Store().TokenOf(t.Context(), api.Hash(made))
	if err != nil || found.Name != "deploy" || found.Owner.Team != "T0LOCAL" {
		t.Errorf("what was printed is not the token: %+v %v", found, err)
	}
	for _, kept := range []string{list, d.must("audit", "export")} {
		if strings.Contains(kept, made) || strings.Contains(kept, api.Hash(made)) {
			t.Error("the secret or its hash is shown or recorded")
		}
	}
	d.must("tokens", "revoke", "deploy")
	d.fails("not revoked", "tokens", "revoke", "deploy")
	if list := d.must("tokens", "list"); !strings.Contains(list, "revoked") {
		t.Errorf("the list: %s", list)
	}
	if !strings.Contains(d.must("audit", "export"), "token.revoked") {
		t.Error("the record does not know of the revocation")
	}
}

func TestCostsAreReported(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	for by, want := range map[string]string{"user": "U0ANA", "channel": "C0OPS", "tool": "delete_document"} {
		if out := d.must("runs", "cost", "--by", by); !strings.Contains(out, want) || !strings.Contains(out, "TOKENS") {
			t.Errorf("by %s: %s", by, out)
		}
	}
	if out := d.must("runs", "cost", "--since", "1ns"); out != "no runs\n" {
		t.Errorf("runs of the future: %s", out)
	}
}
