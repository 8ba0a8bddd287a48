package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"countersign/tools"
)

// The control tools, which act on the run itself.
const (
	AskUser    = "ask_user"
	UpdatePlan = "update_plan"
	ReadOutput = "read_output"
)

var controlNames = []string{AskUser, UpdatePlan, ReadOutput}

var controlSpecs = []tools.Spec{
	{
		Name: AskUser, Risk: tools.Low,
		Description: "Ask the person who made the request one question and wait for the answer. Only for what no tool can tell. Never ask for secrets.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","minLength":1,"maxLength":2000}},"required":["question"],"additionalProperties":false}`),
	},
	{
		Name: UpdatePlan, Risk: tools.Low,
		Description: "Write down the plan of this request, or change it: every item with its status. The person sees it.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","minItems":1,"maxItems":20,"items":{"type":"object","properties":{"title":{"type":"string","minLength":1,"maxLength":200},"status":{"type":"string","enum":["pending","in_progress","complete","error"]}},"required":["title","status"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`),
	},
	{
		Name: ReadOutput, Risk: tools.Low,
		Description: "Read on in a long output that was shown in part.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"ref":{"type":"string","description":"as the output names it"},"offset":{"type":"integer","minimum":0,"default":0,"description":"in characters"}},"required":["ref"],"additionalProperties":false}`),
	},
}

func controlSchemas() (map[string]*tools.Schema, error) {
	out := map[string]*tools.Schema{}
	for _, spec := range controlSpecs {
		s, err := tools.Compile(spec)
		if err != nil {
			return nil, fmt.Errorf("control tool %s: %w", spec.Name, err)
		}
		out[spec.Name] = s
	}
	return out, nil
}

// control settles a step that names a control tool.
func (w *worker) control(s *Step) {
	args, err := tools.Parse(w.a.control[s.Tool], s.Raw)
	if err != nil {
		w.refuse(s, asFailure(err, "invalid_arguments"))
		return
	}
	s.Thought = cut(args.Thought, longestThought)
	s.Proposed, s.Executed, s.Risk = args.Canonical, args.Canonical, tools.Low
	s.Fingerprint = tools.Fingerprint(s.Tool, args.Canonical)
	switch s.Tool {
	case AskUser:
		w.ask(s)
	case UpdatePlan:
		w.plan(s)
	case ReadOutput:
		w.page(s)
	}
}

func (w *worker) ask(s *Step) {
	var in struct{ Question string }
	if err := json.Unmarshal(s.Proposed, &in); err != nil {
		w.refuse(s, asFailure(err, "invalid_arguments"))
		return
	}
	s.State, s.Question = StepAsking, in.Question
}

func (w *worker) plan(s *Step) {
	var in struct{ Items []PlanItem }
	if err := json.Unmarshal(s.Proposed, &in); err != nil {
		w.refuse(s, asFailure(err, "invalid_arguments"))
		return
	}
	w.run.Plan = in.Items
	w.succeed(s, "The plan is written down.")
}

// page gives the next part of a stored output.
func (w *worker) page(s *Step) {
	var in struct {
		Ref    string
		Offset int
	}
	if err := json.Unmarshal(s.Proposed, &in); err != nil {
		w.refuse(s, asFailure(err, "invalid_arguments"))
		return
	}
	n, err := strconv.Atoi(strings.TrimPrefix(in.Ref, "step-"))
	if err != nil || n < 1 || n > len(w.steps) || w.steps[n-1].whole() == "" {
		w.refuse(s, &tools.Failure{Code: "unknown_ref", Pointer: "/ref", Message: fmt.Sprintf("there is no stored output %q", cut(in.Ref, 40))})
		return
	}
	text := []rune(w.steps[n-1].whole())
	if in.Offset >= len(text) {
		w.refuse(s, &tools.Failure{Code: "end", Pointer: "/offset", Message: fmt.Sprintf("the output has %d characters", len(text))})
		return
	}
	end := min(in.Offset+max(w.a.OutputChars, minPage), len(text))
	w.succeed(s, fmt.Sprintf("characters %d to %d of %d:\n%s", in.Offset, end, len(text), string(text[in.Offset:end])))
}

// whole is everything that a step gave.
func (s *Step) whole() string { return orDefault(s.Output, s.Observation) }

// minPage is the least number of characters that one page of an output has.
const minPage = 1000

func outputRef(step int) string { return "step-" + strconv.Itoa(step) }
