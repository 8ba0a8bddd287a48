package playbook

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// turn is one assistant message since the request, with what its calls gave.
type turn struct {
	calls []toolCall
	seen  []string
}

// position is the place in the conversation that a request shows.
type position struct {
	scene   *scene // nil: nothing said so far starts one
	request string // the words that started the scene, else the last request
	values  map[string]string
	turns   []turn
}

// next says what the scripted model says to a request.
func (b *book) next(a ask) (line, error) {
	if text, ok := b.summary(a); ok {
		return line{text: text}, nil
	}
	p := b.locate(a.Messages)
	lang := language(p.request)
	if p.scene == nil {
		return line{text: b.words.say("unknown", lang, map[string]string{"known": b.known(lang)})}, nil
	}
	at, err := p.walk()
	if err != nil {
		return line{}, err
	}
	if at >= len(p.scene.Steps) {
		return line{text: b.words.say("uncovered", p.scene.Language, p.shown())}, nil
	}
	return b.speak(a, p, &p.scene.Steps[at])
}

// speak gives a step's line: its answer, its calls, or why it cannot make them.
func (b *book) speak(a ask, p position, st *step) (line, error) {
	if st.Answer != "" {
		text, err := render(st.Answer, p.values)
		return line{text: strings.TrimSpace(text)}, err
	}
	if len(a.Tools) == 0 {
		return line{text: b.words.say("handover", p.scene.Language, p.shown())}, nil
	}
	said := line{}
	for i, c := range st.Calls {
		asks, ok := offers(a.Tools, c.Call)
		if !ok {
			return line{text: b.words.say("toolless", p.scene.Language, map[string]string{"tool": c.Call})}, nil
		}
		args, err := arguments(c, p.values, asks)
		if err != nil {
			return line{}, err
		}
		if !asks {
			thought, err := render(c.Thought, p.values)
			if err != nil {
				return line{}, err
			}
			said.text = strings.TrimSpace(said.text + "\n" + thought)
		}
		id := fmt.Sprintf("call_%d_%d", len(a.Messages), i)
		said.calls = append(said.calls, toolCall{ID: id, Type: "function", Function: function{Name: c.Call, Arguments: args}})
	}
	return said, nil
}

// offers says whether a tool is offered and asks for a thought as an argument.
func offers(all []offered, name string) (thought, ok bool) {
	for _, t := range all {
		if t.Function.Name == name {
			_, thought = t.Function.Parameters.Properties["thought"]
			return thought, true
		}
	}
	return false, false
}

// locate finds the scene that the conversation is in. The newest request that
// starts one counts; words that start none (a follow-up while it plays) are
// passed over, but not past an answer: what came before it is over.
func (b *book) locate(all []message) position {
	p := position{}
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if m.Role == "assistant" && len(m.ToolCalls) == 0 && p.request != "" {
			break
		}
		if m.Role != "user" || b.words.notes.MatchString(string(m.Content)) {
			continue
		}
		if p.request == "" {
			p.request = string(m.Content)
		}
		if s, values := b.match(string(m.Content)); s != nil {
			return position{scene: s, request: string(m.Content), values: values, turns: turnsOf(all[i+1:])}
		}
	}
	return p
}

// match finds the scene that a text starts. Where several match, the one whose
// words stand last (earlier words may be quoted history) and are the most.
func (b *book) match(text string) (*scene, map[string]string) {
	var found *scene
	var at []int
	for _, s := range b.scenes {
		for _, hit := range s.request.FindAllStringSubmatchIndex(text, -1) {
			if found == nil || hit[0] > at[0] || hit[0] == at[0] && hit[1] > at[1] {
				found, at = s, hit
			}
		}
	}
	if found == nil {
		return nil, nil
	}
	values := map[string]string{}
	for i, name := range found.request.SubexpNames() {
		if name != "" && at[2*i] >= 0 {
			values[name] = text[at[2*i]:at[2*i+1]]
		}
	}
	return found, values
}

// turnsOf groups calls with their observations.
func turnsOf(all []message) []turn {
	var out []turn
	for _, m := range all {
		switch {
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			out = append(out, turn{calls: m.ToolCalls})
		case m.Role == "tool" && len(out) > 0:
			last := &out[len(out)-1]
			last.seen = append(last.seen, string(m.Content))
		}
	}
	return out
}

// walk follows the scene along the turns and returns where it stands now.
// A turn that is not what the step says (spoiled on its way) leaves it there:
// the step is played again.
func (p *position) walk() (int, error) {
	at := 0
	for _, t := range p.turns {
		if at >= len(p.scene.Steps) {
			break
		}
		st := &p.scene.Steps[at]
		if !st.made(t.calls) {
			continue
		}
		if err := p.learn(st, t.seen); err != nil {
			return 0, err
		}
		at = p.after(at, t.seen)
	}
	return at, nil
}

// made says whether the calls are those of the step, whole.
func (st *step) made(calls []toolCall) bool {
	if len(calls) != len(st.Calls) {
		return false
	}
	for i, c := range st.Calls {
		var args map[string]json.RawMessage
		if calls[i].Function.Name != c.Call || json.Unmarshal([]byte(calls[i].Function.Arguments), &args) != nil {
			return false
		}
		for name := range c.Args {
			if _, ok := args[name]; !ok {
				return false
			}
		}
	}
	return true
}

func (p *position) learn(st *step, seen []string) error {
	for _, c := range st.Capture {
		got, err := c.take(p.values, seen)
		if err != nil {
			return err
		}
		if got != "" {
			p.values[c.Name] = got
		}
	}
	return nil
}

// after finds the step that follows; past the end means that the script knows no way on.
func (p *position) after(at int, seen []string) int {
	branches := p.scene.Steps[at].Then
	for i := range branches {
		if branches[i].holds(p.values, seen) {
			return p.scene.at(branches[i].Go)
		}
	}
	if len(branches) > 0 {
		return len(p.scene.Steps)
	}
	return at + 1
}

// shown are the values of the shared texts: what was called and what came back.
func (p *position) shown() map[string]string {
	var done []string
	last := ""
	for _, t := range p.turns {
		for i, c := range t.calls {
			if i < len(t.seen) {
				last = clip(head(t.seen[i], 1), 160)
				done = append(done, "• "+c.Function.Name+": "+last)
			}
		}
	}
	return map[string]string{"done": strings.Join(done, "\n"), "last": last}
}

// summary answers a request to shorten a text, which carries no tools: its head and its tail.
func (b *book) summary(a ask) (string, bool) {
	if len(a.Tools) > 0 || len(a.Messages) == 0 || !b.words.brief.MatchString(string(a.Messages[0].Content)) {
		return "", false
	}
	long := []rune(string(a.Messages[len(a.Messages)-1].Content))
	const keep = 200
	if len(long) <= 2*keep {
		return string(long), true
	}
	return string(long[:keep]) + " … " + string(long[len(long)-keep:]), true
}

// known lists the requests that start a scene in a language.
func (b *book) known(lang string) string {
	var all []string
	for _, s := range b.scenes {
		if s.Language == lang && !s.Unlisted {
			all = append(all, "• "+s.Title)
		}
	}
	return strings.Join(all, "\n")
}

// say gives a shared text in a language.
func (w *words) say(name, lang string, values map[string]string) string {
	t := w.Texts[name].En
	if lang == "zh" {
		t = w.Texts[name].Zh
	}
	s, err := render(t, values)
	if err != nil { // found when the words are read
		return t
	}
	return strings.TrimSpace(s)
}

// language guesses the language of a request by its script.
func language(s string) string {
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			return "zh"
		}
	}
	return "en"
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
