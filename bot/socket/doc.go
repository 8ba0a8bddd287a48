// Package socket receives Slack's Socket Mode envelopes over connections that
// never die silently.
//
// slack-go serves the Web API elsewhere in bot; of its Socket Mode part only
// the call that asks for a connection URL is used (see WebAPI). The loop on
// the WebSocket is our own, because what this bot promises needs control that
// slack-go's client does not give:
//
//   - a click is delivered once and never again, so while Slack refreshes a
//     connection the next one is opened first and the old one is read and
//     acknowledged until it closes (slack-go drops the old one at once);
//   - an acknowledgement belongs to the connection that delivered the
//     envelope, and its write is observed (slack-go queues it, and after a
//     reconnect sends it on another connection);
//   - envelopes that cannot be understood are acknowledged too, or Slack
//     retries them and counts them as failures;
//   - Slack's refusals right after the greeting (link_disabled,
//     too_many_websockets) and refused tokens are met with growing pauses,
//     neither with a hot loop nor with the end of the process at the first one;
//   - a goodbye is a Close frame, so that no ghost of this process stays
//     registered and swallows envelopes.
//
// Two connections are held by default: a gap on one of them does not lose
// clicks. Slack sends each envelope to any one of them, and in any order;
// handlers must therefore be idempotent and order by message timestamp.
package socket
