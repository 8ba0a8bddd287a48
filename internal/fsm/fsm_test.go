package fsm_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/fsm"
)

var lamp = fsm.Machine[string]{Name: "lamp", Edges: []fsm.Edge[string]{{From: "off", On: "press", To: "on"}, {From: "on", On: "break", To: "dead"}}}

func TestFire(t *testing.T) {
	t.Parallel()
	if to, err := lamp.Fire("off", "press"); err != nil || to != "on" {
		t.Errorf("press: %s, %v", to, err)
	}
	to, err := lamp.Fire("dead", "press")
	var illegal *fsm.IllegalError
	if !errors.As(err, &illegal) || to != "dead" || !strings.Contains(err.Error(), "lamp") {
		t.Errorf("an illegal event must leave the state: %s, %v", to, err)
	}
}

func TestTableFacts(t *testing.T) {
	t.Parallel()
	if !lamp.Terminal("dead") || lamp.Terminal("on") || !lamp.Can("off", "on") || lamp.Can("on", "off") {
		t.Error("terminal states and transitions are wrong")
	}
	if got := strings.Join(lamp.States(), " ") + "|" + strings.Join(lamp.Events(), " "); got != "off on dead|press break" {
		t.Error(got)
	}
	if got := lamp.Mermaid(); !strings.Contains(got, "[*] --> off") || !strings.Contains(got, "off --> on: press") || !strings.Contains(got, "dead --> [*]") {
		t.Error(got)
	}
}
