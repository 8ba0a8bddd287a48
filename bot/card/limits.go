package card

// Limits that Slack sets. Where it does not publish one, the number is what was
// observed, with a tenth left free: it is not known how Slack counts.
const (
	maxBlocks      = 50      // in a message
	maxViewBlocks  = 100     // in a modal or the Home tab
	maxBlockText   = 11_800  // all text of a message's blocks; about 13,200 was observed to be refused
	maxSection     = 3000    // text of a section
	maxContext     = 2000    // one text of a context block
	maxFallback    = 3900    // text of a message; chat.update refuses 4,000 and more
	maxInput       = 3000    // what a text input holds
	maxViewTitle   = 24      // title, submit and close of a modal
	maxButton      = 75      // a button's text, an option's text and value
	maxButtonValue = 2000    // a button's value
	maxPrivate     = 3000    // private metadata of a view
	maxBlockID     = 255     // block and action ids, callback ids
	maxLabel       = 2000    // label and hint of an input
	maxView        = 225_000 // a whole view as JSON; Slack refuses 250 KB
	maxAck         = 16_000  // a view that travels in an acknowledgement; Slack ignores 20 KB and more
	maxPlanTitle   = 200     // titles of plans and task cards; Slack's number is about 256
	maxHeading     = 150     // titles of containers
)

// Budgets of a card: together they stay under maxBlockText.
const (
	maxArgs        = 5000 // drawn arguments
	maxArgLines    = 80
	maxArgCount    = 40
	maxWarnings    = 10
	maxEffect      = 2400 // drawn preview
	maxEffectLines = 50
	maxBefore      = 1200 // drawn arguments before an edit
	maxBeforeLines = 24
	maxWords       = 600 // the asker's words
	maxReason      = 300 // the model's reason, and people's
	maxRead        = 8   // sources named
	maxGone        = 5   // people named who are not there any more
	maxPiece       = 2800
)
