package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// A tool of an MCP server waits for a person like any other: its server's words
// lower nothing unless the server is trusted.
func TestToolOfAnMCPServerIsCountersigned(t *testing.T) {
	t.Parallel()
	var deployed atomic.Int64
	type in struct {
		Service string `json:"service"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys a service.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
			deployed.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deployed " + i.Service}}}, nil, nil
		})
	hub := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(hub.Close) // after the process that holds a stream to it
	w := apptest.Start(t, apptest.Options{
		YAML:  fmt.Sprintf("  mcp:\n    - {name: hub, url: %q}\n", hub.URL),
		Model: apptest.Play(apptest.Calls("hub_deploy", `{"service":"web"}`), apptest.Says("It is out.")),
	})
	w.Slack.User("ana").Says("#ops", "@countersign deploy web")
	card := w.Slack.Expect(slacktest.Button("approval_approve"), slacktest.Text("hub_deploy"), slacktest.Text("web"))
	if deployed.Load() != 0 {
		t.Fatal("it was deployed before anybody approved")
	}
	w.Slack.User("mgr").Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("It is out."))
	if n := deployed.Load(); n != 1 {
		t.Errorf("deployed %d times", n)
	}
}
