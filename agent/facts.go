package agent

import (
	"countersign/approvals"
)

type openApprovals = map[string]*approvals.Approval

// facts sums up what the next choice depends on.
func (w *worker) facts() Facts {
	f := Facts{
		Failed: w.failure != "", Stopped: w.stopped(), Done: w.answered(), Closing: w.run.Closing,
		Limit: w.run.Closing != HaltNone && w.run.Answer != "",
	}
	for i := range w.steps {
		w.weigh(&f, &w.steps[i])
	}
	waits := w.run.State == WaitingInput && !w.run.InputBy.IsZero() && !f.Runnable && (f.Asking || f.Unknown || f.Limit)
	if waits && !w.a.Now().Before(w.run.InputBy) {
		f.Over = w.waitsFor()
	}
	w.budgets(&f)
	return f
}

func (w *worker) weigh(f *Facts, s *Step) {
	switch s.State {
	case StepAllowed:
		f.Runnable = true
	case StepExecuting:
		f.Runnable = true // by an epoch that is over: this worker executes inline
	case StepAwaiting:
		f.Awaiting = true
	case StepAsking:
		f.Asking = true
	case StepUncertain:
		if a := w.open[s.Approval]; a != nil && a.State == approvals.Approved {
			f.Runnable = true
		} else {
			f.Unknown = true
		}
	}
}

func (w *worker) budgets(f *Facts) {
	l, s, c := w.run.Limits, w.run.Spent, w.run.Counters
	f.Tokens = l.MaxTokens > 0 && l.MaxTokens-s.Prompt-s.Completion < w.lastCallNeeds()
	f.Time = l.MaxActive > 0 && s.Active >= l.MaxActive
	f.Cost = l.MaxCost > 0 && s.Cost >= l.MaxCost
	f.Steps = l.MaxSteps > 0 && s.Steps >= l.MaxSteps
	f.Denied = w.denials()-c.Denials >= mostDenials
	f.Looped = c.Looped
	f.Healed = c.Heals > l.SelfHeal
}

// mostDenials is after how many refusals by people a run stops trying.
const mostDenials = 2

// denials counts the turns in which people refused something.
func (w *worker) denials() int {
	n, last := 0, 0
	for i := range w.steps { // in the order of their turns
		s := &w.steps[i]
		if (s.Code == "rejected" || s.Code == "denied_before") && s.Turn != last {
			n, last = n+1, s.Turn
		}
	}
	return n
}

// lastCallTokens are kept for the completion of the last call, which sums up.
const lastCallTokens = 300

// lastCallNeeds estimates what one more ordinary call would leave too little for:
// the prompt as it is, once more, and a summary.
func (w *worker) lastCallNeeds() int {
	if w.run.Spent.Calls == 0 {
		return 1
	}
	return min(w.run.Spent.Prompt/w.run.Spent.Calls+lastCallTokens, w.run.Limits.MaxTokens/4)
}

// tokensLeft is the cap of the next completion; 0: no cap.
func (w *worker) tokensLeft() int {
	if w.run.Limits.MaxTokens == 0 {
		return 0
	}
	return max(w.run.Limits.MaxTokens-w.run.Spent.Prompt-w.run.Spent.Completion, 1)
}

func (w *worker) stopped() bool {
	for _, m := range w.inbox {
		if m.Kind == Stop {
			return true
		}
	}
	for i := range w.steps { // a person stopped at an outcome that nobody knows
		if w.steps[i].Code == CodeStopped {
			return true
		}
	}
	return false
}

// answered says that the last turn is the final answer: text, no calls, nothing
// said since, and the plan is done or was checked.
func (w *worker) answered() bool {
	if len(w.turns) == 0 || w.run.Closing != HaltNone {
		return false
	}
	last := w.turns[len(w.turns)-1]
	return last.Text != "" && len(w.stepsOf(last.N)) == 0 && !w.steered() && !w.mustCheck() && w.run.State == Eval && !w.run.Counters.Checking
}

func (w *worker) steered() bool {
	for i := range w.inbox {
		m := &w.inbox[i]
		if _, stands := w.stands(m); stands && (m.Kind == FollowUp || m.change()) && w.run.Speaks(m.From) {
			return true
		}
	}
	return false
}

// mustCheck says that the model has to be asked once about what its plan leaves open.
func (w *worker) mustCheck() bool {
	return !w.run.Counters.Checked && w.changedSomething() && len(w.undone()) > 0
}

func (w *worker) changedSomething() bool {
	for i := range w.steps {
		if s := &w.steps[i]; s.Effects && s.State == StepSucceeded {
			return true
		}
	}
	return false
}

func (w *worker) undone() []string {
	var out []string
	for _, p := range w.run.Plan {
		if p.Status != "complete" && p.Status != "error" {
			out = append(out, p.Title)
		}
	}
	return out
}

func (w *worker) lastText() string {
	if len(w.turns) == 0 {
		return ""
	}
	return w.turns[len(w.turns)-1].Text
}

// stepsOf gives the steps of a turn, without copying: steps are in the order of
// their turns, and mostly the last turn is asked for.
func (w *worker) stepsOf(turn int) []Step {
	end := len(w.steps)
	for end > 0 && w.steps[end-1].Turn > turn {
		end--
	}
	first := end
	for first > 0 && w.steps[first-1].Turn == turn {
		first--
	}
	return w.steps[first:end]
}

// waitsFor is the halt reason of a run whose person did not answer in time.
func (w *worker) waitsFor() Halt {
	for i := range w.steps {
		if w.steps[i].State == StepUncertain {
			return HaltUncertain
		}
	}
	if w.run.Closing != HaltNone {
		return w.run.Closing
	}
	return HaltInput
}
