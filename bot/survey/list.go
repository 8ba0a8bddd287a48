package survey

import (
	"context"
	"errors"
	"time"

	"github.com/slack-go/slack"
)

// pageSize is how many items one call lists: what Slack recommends at most.
const pageSize = 200

// Channel is a channel as the bot sees it.
type Channel struct {
	ID       string
	Name     string
	Member   bool // the bot is in it
	Private  bool
	Archived bool
	External bool // shared with another organisation
}

// Usergroup is a group of people.
type Usergroup struct {
	ID       string
	Handle   string
	Name     string
	Disabled bool
	Members  []string
}

// Account is an entry of the workspace's list of people.
type Account struct {
	ID          string
	Name        string // as the person wants to be called
	Real        string // the full name
	Handle      string
	Deactivated bool
	Bot         bool
	Guest       bool
	Outsider    bool // of another workspace
}

// Channel looks one channel up.
func (s *Survey) Channel(ctx context.Context, id string) (Channel, error) {
	ch, err := s.edge.API.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return Channel{}, refusal(err)
	}
	return channelOf(ch), nil
}

func channelOf(ch *slack.Channel) Channel {
	return Channel{
		ID: ch.ID, Name: ch.Name, Member: ch.IsMember || ch.IsIM, Private: ch.IsPrivate, Archived: ch.IsArchived,
		External: ch.IsExtShared || ch.IsPendingExtShared,
	}
}

// Channels calls see for every channel that the bot can see, archived ones left out.
func (s *Survey) Channels(ctx context.Context, see func(Channel)) error {
	p := slack.GetConversationsParameters{ExcludeArchived: true, Limit: pageSize, Types: []string{"public_channel", "private_channel"}}
	for {
		var page []slack.Channel
		var next string
		err := patiently(ctx, func() (err error) {
			page, next, err = s.edge.API.GetConversationsContext(ctx, &p)
			return err
		})
		if err != nil {
			return refusal(err)
		}
		for i := range page {
			see(channelOf(&page[i]))
		}
		if next == "" {
			return nil
		}
		p.Cursor = next
	}
}

// Joined gives a channel that the bot is in; false when it is in none.
func (s *Survey) Joined(ctx context.Context) (Channel, bool, error) {
	p := slack.GetConversationsForUserParameters{ExcludeArchived: true, Limit: pageSize, Types: []string{"public_channel", "private_channel"}}
	for {
		var page []slack.Channel
		err := patiently(ctx, func() (err error) {
			page, p.Cursor, err = s.edge.API.GetConversationsForUserContext(ctx, &p)
			return err
		})
		if err != nil {
			return Channel{}, false, refusal(err)
		}
		if len(page) > 0 {
			ch := channelOf(&page[0])
			ch.Member = true // the list is of memberships and does not say so again
			return ch, true, nil
		}
		if p.Cursor == "" {
			return Channel{}, false, nil
		}
	}
}

// Usergroups lists the workspace's user groups with their members, those that
// were switched off included.
func (s *Survey) Usergroups(ctx context.Context) ([]Usergroup, error) {
	var groups []slack.UserGroup
	err := patiently(ctx, func() (err error) {
		groups, err = s.edge.API.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeUsers(true), slack.GetUserGroupsOptionIncludeDisabled(true))
		return err
	})
	if err != nil {
		return nil, refusal(err)
	}
	out := make([]Usergroup, len(groups))
	for i, g := range groups {
		out[i] = Usergroup{ID: g.ID, Handle: g.Handle, Name: g.Name, Disabled: g.DateDelete != 0, Members: g.Users}
	}
	return out, nil
}

// Accounts calls see for everybody in the workspace. The workspace's own id
// tells who is from elsewhere.
func (s *Survey) Accounts(ctx context.Context, team string, see func(Account)) error {
	p := s.edge.API.GetUsersPaginated(slack.GetUsersOptionLimit(pageSize))
	for {
		err := patiently(ctx, func() (err error) {
			p, err = p.Next(ctx)
			return err
		})
		if p.Done(err) {
			return nil
		}
		if err != nil {
			return refusal(err)
		}
		for i := range p.Users {
			see(accountOf(&p.Users[i], team))
		}
	}
}

func accountOf(u *slack.User, team string) Account {
	a := Account{
		ID: u.ID, Name: u.Profile.DisplayName, Real: u.RealName, Handle: u.Name, Deactivated: u.Deleted, Bot: u.IsBot || u.ID == "USLACKBOT",
		Guest: u.IsRestricted || u.IsUltraRestricted, Outsider: u.IsStranger || team != "" && u.TeamID != "" && u.TeamID != team,
	}
	if a.Name == "" {
		a.Name = u.RealName
	}
	if a.Name == "" {
		a.Name = u.Name
	}
	return a
}

// mostWaits is how often one call waits for Slack's limit.
const mostWaits = 5

// patiently repeats a call as often as Slack asks to wait for it.
func patiently(ctx context.Context, call func() error) error {
	for range mostWaits {
		err := call()
		var limited *slack.RateLimitedError
		if !errors.As(err, &limited) {
			return err
		}
		timer := time.NewTimer(limited.RetryAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return call()
}
