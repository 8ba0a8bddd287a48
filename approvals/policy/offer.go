package policy

import "countersign/tools"

// Offers says whether a person may ask for a tool in a channel, whatever the rules
// say of a call.
func (p *Policy) Offers(spec tools.Spec, who Person, channel string) bool {
	_, ok := p.mayAsk(Question{Spec: spec, Asker: who, Channel: channel})
	return ok
}
