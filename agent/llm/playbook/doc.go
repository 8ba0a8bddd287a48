// Package playbook is a scripted model: an HTTP server that speaks the chat
// completions API of OpenAI and plays written scenes instead of thinking.
//
// A scene is a YAML file that reads like a script: the words that start it, then
// steps that call tools or answer, with branches on what the tools said. Every
// figure in an answer comes from an observation in the request; the server never
// knows it from elsewhere.
//
// The server keeps no conversation. Where a scene stands is found from the
// messages of each request, by walking the scene along the calls that were made
// and the observations that came back. So restarts, replays and conversations
// side by side do not disturb it.
package playbook
