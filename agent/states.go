package agent

import "countersign/internal/fsm"

// RunState is where a run is in its life.
type RunState string

// The states of a run.
const (
	Init            RunState = "init"
	Planning        RunState = "planning"
	Executing       RunState = "executing"
	Eval            RunState = "eval"
	Reflect         RunState = "reflect"
	WaitingApproval RunState = "waiting_approval"
	WaitingInput    RunState = "waiting_input"
	Success         RunState = "success"
	Failed          RunState = "failed"
	Cancelled       RunState = "cancelled"
)

// The events of a run.
const (
	OnBegin   = "begin"   // the first worker took it
	OnAgain   = "again"   // the model is to be asked once more without new results
	OnCalls   = "calls"   // the model asked for tools
	OnText    = "text"    // the model answered in text
	OnResults = "results" // every call of the turn has its result
	OnErrors  = "errors"  // every call has its result and one failed
	OnApprove = "approve" // nothing can go on but a countersignature
	OnInput   = "input"   // nothing can go on but a person's word
	OnRedeem  = "redeem"  // an approval can be redeemed
	OnSettled = "settled" // what was waited for is there
	OnDone    = "done"
	OnFail    = "fail"
	OnCancel  = "cancel"
)

// RunMachine is the life of a run.
var RunMachine = fsm.Machine[RunState]{Name: "run", Edges: []fsm.Edge[RunState]{
	{From: Init, On: OnBegin, To: Planning},
	{From: Init, On: OnCancel, To: Cancelled},
	{From: Planning, On: OnAgain, To: Planning},
	{From: Planning, On: OnCalls, To: Executing},
	{From: Planning, On: OnText, To: Eval},
	{From: Planning, On: OnApprove, To: WaitingApproval},
	{From: Planning, On: OnInput, To: WaitingInput},
	{From: Planning, On: OnFail, To: Failed},
	{From: Planning, On: OnCancel, To: Cancelled},
	{From: Executing, On: OnResults, To: Eval},
	{From: Executing, On: OnErrors, To: Reflect},
	{From: Executing, On: OnApprove, To: WaitingApproval},
	{From: Executing, On: OnInput, To: WaitingInput},
	{From: Eval, On: OnAgain, To: Planning},
	{From: Eval, On: OnDone, To: Success},
	{From: Eval, On: OnApprove, To: WaitingApproval},
	{From: Eval, On: OnInput, To: WaitingInput},
	{From: Eval, On: OnFail, To: Failed},
	{From: Eval, On: OnCancel, To: Cancelled},
	{From: Reflect, On: OnAgain, To: Planning},
	{From: Reflect, On: OnApprove, To: WaitingApproval},
	{From: Reflect, On: OnInput, To: WaitingInput},
	{From: Reflect, On: OnFail, To: Failed},
	{From: Reflect, On: OnCancel, To: Cancelled},
	{From: WaitingApproval, On: OnRedeem, To: Executing},
	{From: WaitingApproval, On: OnSettled, To: Planning},
	{From: WaitingApproval, On: OnInput, To: WaitingInput},
	{From: WaitingApproval, On: OnCancel, To: Cancelled},
	{From: WaitingInput, On: OnRedeem, To: Executing},
	{From: WaitingInput, On: OnSettled, To: Planning},
	{From: WaitingInput, On: OnApprove, To: WaitingApproval},
	{From: WaitingInput, On: OnFail, To: Failed},
	{From: WaitingInput, On: OnCancel, To: Cancelled},
}}

// StepState is where a step is in its life.
type StepState string

// The states of a step.
const (
	StepProposed  StepState = "proposed"
	StepAllowed   StepState = "allowed"
	StepAwaiting  StepState = "awaiting" // a countersignature
	StepAsking    StepState = "asking"   // the asker's word
	StepRefused   StepState = "refused"
	StepAnswered  StepState = "answered" // a person answered in the tool's place
	StepExecuting StepState = "executing"
	StepSucceeded StepState = "succeeded"
	StepFailed    StepState = "failed"
	StepUncertain StepState = "uncertain"
	StepCancelled StepState = "cancelled"
)

// StepMachine is the life of a step.
var StepMachine = fsm.Machine[StepState]{Name: "step", Edges: []fsm.Edge[StepState]{
	{From: StepProposed, On: "allow", To: StepAllowed},
	{From: StepProposed, On: "await", To: StepAwaiting},
	{From: StepProposed, On: "ask", To: StepAsking},
	{From: StepProposed, On: "refuse", To: StepRefused},
	{From: StepProposed, On: "cancel", To: StepCancelled},
	{From: StepAwaiting, On: "allow", To: StepAllowed},
	{From: StepAwaiting, On: "refuse", To: StepRefused},
	{From: StepAwaiting, On: "answer", To: StepAnswered},
	{From: StepAwaiting, On: "cancel", To: StepCancelled},
	{From: StepAsking, On: "answer", To: StepAnswered},
	{From: StepAsking, On: "refuse", To: StepRefused},
	{From: StepAsking, On: "cancel", To: StepCancelled},
	{From: StepAllowed, On: "execute", To: StepExecuting},
	{From: StepAllowed, On: "await", To: StepAwaiting},
	{From: StepAllowed, On: "refuse", To: StepRefused},
	{From: StepAllowed, On: "cancel", To: StepCancelled},
	{From: StepExecuting, On: "succeed", To: StepSucceeded},
	{From: StepExecuting, On: "fail", To: StepFailed},
	{From: StepExecuting, On: "lose", To: StepUncertain},
	{From: StepExecuting, On: "retake", To: StepExecuting},
	{From: StepUncertain, On: "succeed", To: StepSucceeded},
	{From: StepUncertain, On: "execute", To: StepExecuting},
	{From: StepUncertain, On: "fail", To: StepFailed},
}}

// Settled says that a step has its one result.
func (s StepState) Settled() bool { return StepMachine.Terminal(s) }
