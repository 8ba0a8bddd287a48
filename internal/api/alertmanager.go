package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
)

// group is what Alertmanager sends (webhook payload, version 4), as far as it is used.
type group struct {
	Status   string            `json:"status"`
	GroupKey string            `json:"groupKey"`
	Common   map[string]string `json:"commonLabels"`
	Alerts   []alert           `json:"alerts"`
}

type alert struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	Fingerprint string            `json:"fingerprint"`
}

// alertmanager starts a run about firing alerts. Alertmanager repeats itself until it
// is answered and while alerts fire: the same alerts, fired at the same time, are one run.
func (s *Server) alertmanager(w http.ResponseWriter, r *http.Request) {
	status, body, err := s.alerted(r)
	s.answer(w, r, status, body, err)
}

func (s *Server) alerted(r *http.Request) (int, any, error) {
	h := s.Alertmanager
	if h == nil || !same(bearer(r), h.Secret) {
		return 0, nil, fail(http.StatusUnauthorized, "unauthorized", "This hook takes the bearer token of hooks.alertmanager in the configuration.")
	}
	var g group
	if err := json.NewDecoder(r.Body).Decode(&g); err != nil {
		return 0, nil, fail(http.StatusBadRequest, "bad_request", "This is no message of Alertmanager: "+err.Error())
	}
	firing := slices.DeleteFunc(g.Alerts, func(a alert) bool { return a.Status != "firing" })
	if len(firing) == 0 {
		return http.StatusOK, started{}, nil // resolved: there is nothing to look into
	}
	data, err := json.MarshalIndent(map[string]any{"common": g.Common, "alerts": firing[:min(len(firing), mostAlerts)], "count": len(firing)}, "", "  ")
	if err != nil {
		return 0, nil, err
	}
	got, err := s.Runs.Begin(r.Context(), agent.Order{
		Key: "hook/" + h.Name + "/" + keyOf(&g, firing), Installation: s.Installation, Channel: h.Channel,
		Asker: policy.Actor{Team: s.Installation, User: "hook/" + h.Name}, Owner: h.Owner, Origin: "hook",
		Text: h.Text, Data: short(s.Mask(string(data))), Language: "en",
	})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, started{ID: got.Run, Seen: got.Seen}, nil
}

// Bounds of what one group of alerts tells the model.
const (
	mostAlerts = 20
	mostData   = 8000 // characters
)

func short(s string) string {
	if r := []rune(s); len(r) > mostData {
		return string(r[:mostData]) + "…"
	}
	return s
}

// keyOf names the firing of these alerts.
func keyOf(g *group, firing []alert) string {
	parts := []string{g.GroupKey}
	for _, a := range firing {
		parts = append(parts, a.Fingerprint+"@"+a.StartsAt.UTC().Format(time.RFC3339))
	}
	slices.Sort(parts[1:])
	return Hash(strings.Join(parts, "\x00"))
}

// same compares secrets without telling by its time how far they agree.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
