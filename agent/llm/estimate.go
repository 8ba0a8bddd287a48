package llm

import "unicode/utf8"

// EstimateTokens guesses how many tokens a text has, for providers that do not
// count: four ASCII bytes a token, and one for every other character, which is
// on the high side for Chinese and right for rarer scripts.
func EstimateTokens(text string) int {
	var ascii, other int
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// messageOverhead is what the frame of a message costs, in tokens.
const messageOverhead = 4

// Estimate guesses the prompt tokens of a request.
func (r *Request) Estimate() int {
	n := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		n += messageOverhead + EstimateTokens(m.Text)
		for _, c := range m.Calls {
			n += messageOverhead + EstimateTokens(c.Name) + EstimateTokens(c.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += messageOverhead + EstimateTokens(t.Name) + EstimateTokens(t.Description) + EstimateTokens(string(t.Parameters))
	}
	return n
}

// Estimate guesses the completion tokens of a reply.
func (r *Reply) Estimate() int {
	n := EstimateTokens(r.Text) + EstimateTokens(r.Reasoning)
	for _, c := range r.Calls {
		n += messageOverhead + EstimateTokens(c.Name) + EstimateTokens(c.Arguments)
	}
	return n
}

// Plus adds what another attempt cost; one estimate makes the sum an estimate.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Prompt:     u.Prompt + v.Prompt,
		Completion: u.Completion + v.Completion,
		Cached:     u.Cached + v.Cached,
		Estimated:  u.Estimated || v.Estimated,
	}
}

// worthWatching is the least estimate for which a far lower count is a sign.
const worthWatching = 4000

// Shrank says whether the provider counted so few prompt tokens that it must have
// left out a part of a request of this estimate: less than half.
func (u Usage) Shrank(estimate int) bool {
	return !u.Estimated && u.Prompt > 0 && estimate > worthWatching && u.Prompt < estimate/2
}
