package openai

import "testing"

// Row C17.
func TestC17SplitThinking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, text, thinking string }{
		{"nothing to do", "answer", "answer", ""},
		{"closing only", "hmm</think>answer", "answer", "hmm"},
		{"block", "<think>hmm</think>answer", "answer", "hmm"},
		{"two blocks", "<think>a</think>\n<think>b</think> answer", "answer", "a\n\nb"},
		{"nested", "<think>a <think>b</think> c</think>answer", "answer", "a <think>b</think> c"},
		{"an opening tag too many", "<think>a <think> b</think>answer", "answer", "a <think> b"},
		{"never closed", "<think>hmm", "", "hmm"},
		{"other names", "<reasoning>hmm</reasoning>answer", "answer", "hmm"},
		{"mixed names", "<think>a </thinking> b</think>answer", "answer", "a </thinking> b"},
		{"within a line of code", "Write `</think>` to end it.", "Write `</think>` to end it.", ""},
		{"within a block of code", "Like this:\n```\n</think>\n```\nDone.", "Like this:\n```\n</think>\n```\nDone.", ""},
		{"a block in the middle stays", "I write <think>x</think> here.", "I write <think>x</think> here.", ""},
		{"closing only, with a stray backtick", "hm `m</think>answer", "answer", "hm `m"},
		{"nothing after it", "hmm</think>", "", "hmm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, thinking := splitThinking(c.in)
			same(t, c.text, text)
			same(t, c.thinking, thinking)
		})
	}
}
