// Package openai serves the agent's models over the chat completions API of
// OpenAI, as OpenAI and the many servers that imitate it speak it. It is the
// only package that knows go-openai.
//
// go-openai decodes a reply whole or not at all, drops what it does not know and
// knows no retries. So every call goes through an exchange: it corrects the
// request after go-openai wrote it, reads the whole answer, brings it into the
// one shape that go-openai reads, and keeps aside what go-openai would drop. An
// exchange belongs to one attempt, so nothing is shared between calls but the
// habits that were learned of the server.
//
// The flow of one attempt:
//
//	llm.Request ─ request.go ─► go-openai ─ exchange.go, outgoing.go ─► server
//	llm.Reply ◄─ reply.go ── go-openai ◄─ normalise.go (stream.go, failure.go) ◄─ answer
//
// The Responses API is a second way from Client.call to the server, beside chat
// (responses.go). Nothing is kept at the server: what its models need back, their
// sealed reasoning, travels with the messages.
package openai
