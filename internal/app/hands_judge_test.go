package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/bot/words"
	"countersign/localslack/slacktest"
)

// mustAgree holds what was done and what is shown against the database.
func (h *hands) mustAgree(cases []decisions.Case, granted map[string]int) {
	h.t.Helper()
	calls, redeemed := map[string]int{}, map[string]int{}
	for _, c := range h.tool.All() {
		calls[c.Run+"-"+c.Step+string(c.Args)]++
	}
	for i := range cases {
		a := &cases[i].Approval
		if !approvals.Machine.Terminal(a.State) {
			h.t.Errorf("approval %s of an ended run is %s", a.ID, a.State)
		}
		if a.State == approvals.Redeemed {
			redeemed[fmt.Sprintf("%s-%d%s", a.Run, a.Step, a.Current().Args)]++
		}
		h.mustBeDecided(a)
	}
	for key, n := range calls {
		if n > redeemed[key]+granted[key] {
			h.t.Errorf("%s was called %d times, countersigned %d times and granted %d times", key, n, redeemed[key], granted[key])
		}
	}
	different := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		h.bury() // somebody has to deliver
		if different = h.differs(cases); different == "" {
			return
		}
	}
	h.t.Errorf("a card says something else than the database: %s", different)
}

// mustBeDecided checks that the outcome is that of the decisions.
func (h *hands) mustBeDecided(a *approvals.Approval) {
	h.t.Helper()
	final := 0
	for _, d := range a.Decisions {
		if !d.Void && (d.Verdict == approvals.Reject || d.Verdict == approvals.Respond) {
			final++
		}
		if d.By.User == "U0ANA" || d.By.User == "U0OLI" || d.By.User == "U0GUS" {
			h.t.Errorf("a decision of %s counted on %s", d.By.User, a.ID)
		}
	}
	refused := a.State == approvals.Rejected || a.State == approvals.Answered
	if refused != (final == 1) || final > 1 {
		h.t.Errorf("approval %s is %s after %d refusals", a.ID, a.State, final)
	}
	alone := slices.ContainsFunc(a.Decisions, func(d approvals.Decision) bool { return d.Glass && !d.Void })
	if n := a.Approvals(); a.State == approvals.Redeemed && n < a.Current().Requirement.Quorum && !alone {
		h.t.Errorf("approval %s ran with %d of %d people", a.ID, n, a.Current().Requirement.Quorum)
	}
	if alone && (a.Review == nil || a.Review.State != approvals.ReviewOpen && a.ActedAlone(a.Review.By)) {
		h.t.Errorf("approval %s was given alone, and its review is %+v", a.ID, a.Review)
	}
	for _, d := range a.Decisions {
		if d.Glass && !slices.Contains(oncall(), d.By.User) {
			h.t.Errorf("%s broke the glass of %s", d.By.User, a.ID)
		}
	}
}

// mustKeepTheGrants checks that no standing grant let more through than it was for, and
// gives the calls that ran under one, by what was called.
func (h *hands) mustKeepTheGrants() map[string]int {
	h.t.Helper()
	rows, err := h.Newest().Store().Writer().QueryContext(h.t.Context(), "SELECT run, n, executed, grant_id FROM steps WHERE grant_id <> '' AND executed IS NOT NULL AND executed <> ''")
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	calls, used := map[string]int{}, map[string]int{}
	for rows.Next() {
		var run, args, grant string
		var n int
		if err := rows.Scan(&run, &n, &args, &grant); err != nil {
			h.t.Fatal(err)
		}
		calls[fmt.Sprintf("%s-%d%s", run, n, args)]++
		used[grant]++
	}
	all, err := h.Newest().Store().AllGrants(h.t.Context())
	if err := errors.Join(err, rows.Err()); err != nil {
		h.t.Fatal(err)
	}
	for _, g := range all {
		if g.Used > g.Most || g.Used != used[g.ID] || h.isOutsideTheCrowd(g.Giver.User) {
			h.t.Errorf("grant %s of %s: %d of %d used, %d calls ran under it", g.ID, g.Giver.User, g.Used, g.Most, used[g.ID])
		}
		delete(used, g.ID)
	}
	if len(used) > 0 {
		h.t.Errorf("calls ran under grants that are not there: %v", used)
	}
	return calls
}

func (h *hands) isOutsideTheCrowd(user string) bool {
	return !strings.HasPrefix(user, "U0M") || user == "U0MGR"
}

// mustHavePlayed says how much of everything there was, and that a long play had all of it.
func (h *hands) mustHavePlayed(cases []decisions.Case, granted int) {
	h.t.Helper()
	count := map[string]int{"under a grant": granted, "alone": 0, "in one press": 0, "edited": 0, "expired": 0}
	for i := range cases {
		a := &cases[i].Approval
		for _, d := range a.Decisions {
			count["alone"] += map[bool]int{true: 1}[d.Glass]
			count["in one press"] += map[bool]int{true: 1}[strings.Contains(d.Via, "one press")]
			count["edited"] += map[bool]int{true: 1}[d.Verdict == approvals.Edit]
		}
		count["expired"] += map[bool]int{true: 1}[a.State == approvals.Expired]
	}
	h.t.Logf("decisions: %v", count)
	for what, n := range count {
		if n == 0 && h.asked >= 300 {
			h.t.Errorf("in %d histories nothing was decided %s", h.asked, what)
		}
	}
}

// delivery is what the database says of a card's delivery.
func (h *hands) delivery(a *approvals.Approval) []bot.Delivery {
	w, err := h.Newest().Store().Whole(h.t.Context(), a.Run)
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(w.Deliveries, func(d bot.Delivery) bool { return d.Subject != approvals.CardSubject(a.ID, a.Channel) })
}

// differs names a card that does not say what the database says; "" when there is none.
func (h *hands) differs(cases []decisions.Case) string {
	catalogue, err := words.Load()
	if err != nil {
		h.t.Fatal(err)
	}
	shown := map[string][]string{}
	for _, m := range h.Slack.All(slacktest.MetaHas("subject", "/card/")) {
		now := m.Now()
		var payload struct {
			Approval string `json:"approval"`
		}
		if now.Metadata != nil && json.Unmarshal(now.Metadata.EventPayload, &payload) == nil {
			shown[payload.Approval] = append(shown[payload.Approval], now.Text)
		}
	}
	for i := range cases {
		a := &cases[i].Approval
		want := []string{catalogue.In("en").Say("card.text."+string(a.State), "tool", "wipe")}
		if !slices.Equal(shown[a.ID], want) {
			return fmt.Sprintf("%s: %q, want %q; delivery %+v", a.ID, shown[a.ID], want, h.delivery(a))
		}
	}
	return ""
}
