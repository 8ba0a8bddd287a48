package agent

// Next is what a worker does next with a run.
type Next string

// What can come next.
const (
	DoFail    Next = "fail"
	DoFinish  Next = "finish"
	DoCancel  Next = "cancel"
	DoExecute Next = "execute"
	DoPark    Next = "park"
	DoClose   Next = "close" // one last call of the model, without tools
	DoThink   Next = "think"
)

// Facts are all that the choice depends on.
type Facts struct {
	Failed   bool // an error that no further step can mend
	Done     bool // the final answer is there
	Stopped  bool // somebody who may asked to stop
	Runnable bool // a step can run, be taken over or be redeemed
	Unknown  bool // a step's outcome is not known: a person has to say
	Asking   bool // a step waits for the asker
	Awaiting bool // a step waits for a countersignature
	Over     Halt // the person's time to answer is over: what was waited for
	Limit    bool // the last words after a limit were said, and the asker may give more
	Closing  Halt // the last call was announced
	Tokens   bool // budgets that are used up
	Time     bool
	Cost     bool
	Steps    bool
	Denied   bool
	Looped   bool
	Healed   bool // too many failures in a row
}

// Route decides what comes next and why. It is the only place that does: error,
// done, cancelled, a pause declared by a step, budgets, steps, loops, and else on.
func Route(f Facts) (Next, Halt) {
	switch {
	case f.Failed:
		return DoFail, HaltError
	case f.Done:
		return DoFinish, HaltDone
	case f.Stopped:
		return DoCancel, HaltCancelled
	case f.Over != HaltNone:
		return DoFail, f.Over
	case f.Runnable:
		return DoExecute, HaltNone
	case f.Unknown:
		return DoPark, HaltUncertain
	case f.Asking:
		return DoPark, HaltInput
	case f.Awaiting:
		return DoPark, HaltApproval
	case f.Limit:
		return DoPark, f.Closing
	case f.Closing != HaltNone:
		return DoThink, f.Closing
	}
	if halt := f.defensive(); halt != HaltNone {
		return DoClose, halt
	}
	return DoThink, HaltNone
}

func (f Facts) defensive() Halt {
	switch {
	case f.Tokens:
		return HaltTokens
	case f.Time:
		return HaltTime
	case f.Cost:
		return HaltCost
	case f.Steps:
		return HaltMaxSteps
	case f.Denied:
		return HaltDenied
	case f.Looped:
		return HaltLoop
	case f.Healed:
		return HaltError
	}
	return HaltNone
}
