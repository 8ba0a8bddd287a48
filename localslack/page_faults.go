package localslack

import (
	"context"
	"time"
)

// pageFaults are what anyone can break from the page to see how the app takes
// it; each but mend harms once and is over.
func pageFaults() map[string]func(*Server) {
	return map[string]func(*Server){
		// One mention delivered three times under new event ids, as Slack has been seen to do.
		"duplicate": func(s *Server) {
			s.BreakDelivery(DeliveryFault{Type: "app_mention", Times: 1, Copies: []Copy{{NewEventID: true}, {After: 2 * time.Second, NewEventID: true}}})
		},
		"delay": func(s *Server) { s.BreakDelivery(DeliveryFault{Times: 1, Delay: 5 * time.Second}) },
		// Interactive envelopes are never sent again: the person has to press again.
		"drop":  func(s *Server) { s.BreakDelivery(DeliveryFault{Type: "interactive", Times: 1, Drop: true}) },
		"limit": func(s *Server) { s.BreakAPI(APIFault{Times: 3, RetryAfter: 5 * time.Second}) },
		// The message is there, but the app cannot know it.
		"lost": func(s *Server) {
			s.BreakAPI(APIFault{Method: "chat.postMessage", Times: 1, Cut: true, AfterStore: true})
		},
		"disconnect": func(s *Server) { s.Disconnect("refresh_requested") },
		"mend":       (*Server).Mend,
	}
}

// breakIt plays the fault that the act names.
func (p *page) breakIt(_ context.Context, a pageAct) (pageReply, error) {
	fault, ok := pageFaults()[a.Name]
	if !ok {
		return pageReply{}, refuse("no_such_fault")
	}
	fault(p.server)
	return pageReply{Acked: true}, nil
}
