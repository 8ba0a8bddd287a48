package survey_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"countersign/approvals/policy"
	"countersign/bot/survey"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

func ask(ws *slacktest.Slack, change func(*survey.Config)) *survey.Survey {
	c := survey.Config{
		BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Address: ws.Server.APIURL(), Client: &http.Client{Timeout: 10 * time.Second}, Now: time.Now,
	}
	if change != nil {
		change(&c)
	}
	return survey.New(c)
}

func TestToken(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	token, err := ask(ws, nil).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if token.Self.User != "U0BOT" || token.Self.Team != "T0LOCAL" || token.Team != "Local" || !slices.Equal(token.Scopes, localslack.DefaultScopes()) {
		t.Errorf("%+v", token)
	}
	if !token.Dated || token.Skew.Abs() > token.Within {
		t.Errorf("one clock, and yet a skew of %s, give or take %s", token.Skew, token.Within)
	}
}

func TestTokenTellsTheSkew(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second} {
		ws := slacktest.New(t)
		ahead := func(c *survey.Config) { c.Now = func() time.Time { return time.Now().Add(skew) } }
		token, err := ask(ws, ahead).Token(t.Context())
		if err != nil || (token.Skew-skew).Abs() > token.Within {
			t.Errorf("%s ahead: told %s, give or take %s, %v", skew, token.Skew, token.Within, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Allow(localslack.ViolationScope)
	ctx := t.Context()
	wrong := ask(ws, func(c *survey.Config) { c.BotToken, c.AppToken = "xoxb-wrong", "xapp-wrong" })
	_, err := wrong.Token(ctx)
	wants(t, err, "invalid_auth", "")
	wants(t, wrong.Open(ctx), "invalid_auth", "")
	swapped := ask(ws, func(c *survey.Config) { c.BotToken, c.AppToken = c.AppToken, c.BotToken })
	_, err = swapped.Token(ctx)
	wants(t, err, "not_allowed_token_type", "")
	ws.Server.SetScopes("chat:write")
	s := ask(ws, nil)
	_, err = s.Usergroups(ctx)
	wants(t, err, "missing_scope", "usergroups:read")
	_, err = s.Channel(ctx, "C0OPS")
	wants(t, err, "missing_scope", "channels:read")
	token, err := s.Token(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Person(ctx, token.Self, "U0ANA")
	wants(t, err, "missing_scope", "users:read")
	away := ask(ws, func(c *survey.Config) { c.Address = "http://127.0.0.1:1/api/" })
	if _, err := away.Token(ctx); !errors.Is(err, survey.ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

func wants(t *testing.T, err error, code, needed string) {
	t.Helper()
	var r *survey.Refused
	if !errors.As(err, &r) || r.Code != code || r.Needed != needed {
		t.Errorf("wanted %s %s, got %v", code, needed, err)
	}
}

func TestGreet(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	s := ask(ws, nil)
	if others, err := s.Greet(t.Context()); err != nil || others != 0 {
		t.Errorf("%d others, %v", others, err)
	}
	ws.Until("goodbye", func(s *localslack.Server) bool { return s.Connections() == 0 })
	ws.Server.RefuseOpen("link_disabled")
	wants(t, s.Open(t.Context()), "link_disabled", "")
	if _, err := s.Greet(t.Context()); !errors.Is(err, survey.ErrNoGreeting) {
		t.Errorf("%v", err)
	}
}

func TestJoined(t *testing.T) {
	t.Parallel()
	s := ask(slacktest.New(t), nil)
	if ch, ok, err := s.Joined(t.Context()); err != nil || !ok || !ch.Member {
		t.Errorf("%+v, %t, %v", ch, ok, err)
	}
	nowhere := ask(slacktest.New(t, func(c *localslack.Config) { c.Channels = nil }), nil)
	if _, ok, err := nowhere.Joined(t.Context()); err != nil || ok {
		t.Errorf("%t, %v", ok, err)
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	s := ask(ws, nil)
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]policy.Standing{
		"U0ANA": policy.Member, "U0EVE": policy.Deactivated, "U0GUS": policy.Guest, "U0OLI": policy.Outsider, "U0BOT": policy.Bot,
	} {
		if p, err := s.Person(t.Context(), token.Self, user); err != nil || p.Standing != want {
			t.Errorf("%s is %s, %v", user, p.Standing, err)
		}
	}
}

// What Slack limits is asked for again when Slack says so.
func TestListsWaitForLimits(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Server.BreakAPI(localslack.APIFault{Method: "users.list", Times: 1, RetryAfter: time.Second})
	n := 0
	if err := ask(ws, nil).Accounts(t.Context(), "T0LOCAL", func(survey.Account) { n++ }); err != nil || n != 7 {
		t.Errorf("%d people, %v", n, err)
	}
}
