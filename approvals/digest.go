package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"countersign/approvals/policy"
	"countersign/tools"
)

// Seal computes a revision's digest: over the approval, the number, the tool,
// the arguments, the requirement, the contract and the preview. Parts are
// length-prefixed, so that no two different revisions have the same bytes.
func (a *Approval) Seal(r Revision) (string, error) {
	requirement, err := json.Marshal(r.Requirement)
	if err != nil {
		return "", fmt.Errorf("seal requirement: %w", err)
	}
	preview, err := json.Marshal(r.Preview)
	if err != nil {
		return "", fmt.Errorf("seal preview: %w", err)
	}
	return tools.Digest("revision", a.ID, strconv.Itoa(r.N), a.Tool, string(r.Args), string(requirement), r.Contract, string(preview)), nil
}

// Opening is what an approval is opened with.
type Opening struct {
	ID        string
	Run       string
	Step      int
	Spec      tools.Spec
	Risk      tools.Risk
	Channel   string
	ThreadTS  string
	Requester policy.Actor
	Editors   []policy.Actor // of the approval that this one replaces
	Args      json.RawMessage
	Contract  string
	Preview   *tools.Preview
	Needs     policy.Requirement
	Again     string // the approval that this one replaces
	Why       string // why it is asked again
	Now       time.Time
}

// Open makes a pending approval with its first revision.
func Open(o Opening) (Approval, error) {
	a := Approval{
		ID: o.ID, Run: o.Run, Step: o.Step, Tool: o.Spec.Name, Risk: o.Risk, Channel: o.Channel, ThreadTS: o.ThreadTS,
		State: Pending, Revision: 1, Version: 1, OpenedAt: o.Now, ExpiresAt: o.Now.Add(o.Needs.TTL),
		Requester: o.Requester, Shapers: o.Editors, Again: o.Again, Why: o.Why,
	}
	r := Revision{N: 1, Args: o.Args, Requirement: o.Needs, Contract: o.Contract, Preview: o.Preview, At: o.Now}
	digest, err := a.Seal(r)
	if err != nil {
		return Approval{}, err
	}
	r.Digest = digest
	a.Revisions = []Revision{r}
	return a, nil
}

// Requesters are the people whose words or edits shaped the current revision:
// the asker, and whoever edited it so far.
func (a *Approval) Requesters() []policy.Actor {
	return append([]policy.Actor{a.Requester}, a.Editors()...)
}

// Editors are the people whose edits shaped the current revision, also those that were
// made on an approval which this one replaces; the last editor comes last.
func (a *Approval) Editors() []policy.Actor {
	out := slices.Clone(a.Shapers)
	for _, r := range a.Revisions[:a.Revision] {
		if !r.By.Zero() {
			out = append(slices.DeleteFunc(out, func(e policy.Actor) bool { return e == r.By }), r.By)
		}
	}
	return out
}

// LastEditor is who made the arguments what they are; zero when nobody edited them.
func (a *Approval) LastEditor() policy.Actor {
	editors := a.Editors()
	if len(editors) == 0 {
		return policy.Actor{}
	}
	return editors[len(editors)-1]
}

// PeopleSubject names the delivery that tells an approval's people privately: it has
// no message itself and asks for one for each of them.
func PeopleSubject(approval string) string { return "approval/" + approval + "/people" }

// BundleSubject names the delivery of the message about calls that one press may decide together.
func BundleSubject(run string, first int, channel string) string {
	return "run/" + run + "/bundle/" + strconv.Itoa(first) + "/" + channel
}

// CardSubject names the card's delivery.
func CardSubject(approval, channel string) string { return "approval/" + approval + "/card/" + channel }
