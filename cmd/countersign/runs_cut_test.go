package main

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/bot/slacktext"
)

// Where an outcome is cut, no half of a secret is left that nothing would mask.
func TestNoHalfOfASecretIsShown(t *testing.T) {
	t.Parallel()
	m, err := slacktext.NewMasker([]string{`PIN-[0-9]{10}`})
	if err != nil {
		t.Fatal(err)
	}
	p := &page{mask: m}
	p.step(&agent.Step{N: 1, Tool: "look", Observation: strings.Repeat("PIN-0123456789 ", 100)})
	if out := p.out.String(); strings.Contains(out, "PIN-") || !strings.Contains(out, "⟨masked⟩") || !strings.Contains(out, "runs export") {
		t.Errorf("shown: %s", out)
	}
}
