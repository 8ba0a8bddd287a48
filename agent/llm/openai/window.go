package openai

import "countersign/agent/llm"

// roomToAnswer is the part of the window that a request leaves free: one tenth.
const roomToAnswer = 10

// worthMeasuring is the least estimate that says how the server counts.
const worthMeasuring = 500

// measure learns how many tokens the server counts for one that we estimate. Fewer
// are not believed: they may be what is left of a request that was cut.
func (m *Client) measure(estimate, counted int) {
	if estimate < worthMeasuring {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.density = max(1, float64(counted)/float64(estimate))
}

// tokens are those of a request, as the server is known to count them.
func (m *Client) tokens(r *llm.Request) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(float64(r.Estimate()) * max(1, m.density))
}
