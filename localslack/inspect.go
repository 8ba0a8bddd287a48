package localslack

import (
	"slices"
	"strings"

	"countersign/localslack/blockkit"
)

// inspect looks at what the app posted for things that no careful app posts.
func (s *Server) inspect(m Message) {
	if m.Text == "" && len(m.Blocks) > 0 {
		s.violate(ViolationNoText, m.Channel+" "+m.TS)
	}
	for _, seq := range Active(m) {
		switch {
		case seq == "!here", seq == "!channel", seq == "!everyone", strings.HasPrefix(seq, "!subteam^"):
			s.violate(ViolationBroadcast, seq)
		case strings.HasPrefix(seq, "http") && !m.NoUnfurl:
			s.violate(ViolationUnfurl, m.Channel+" "+m.TS)
		}
	}
}

// Active lists what Slack interprets in a message, in its text and its blocks:
// "@U1", "#C1", "!here", "!subteam^S1", "!date^…", "https://…". What is only
// shown, escaped or in plain text, is not among it.
func Active(m Message) []string {
	return slices.Concat(
		sequences(m.Text), sequences(strings.Join(blockkit.Interpreted(m.Blocks), "\n")), blockkit.Mentions(m.Blocks))
}

func cutRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}
