package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// What a server says of a running call stands in the thread until the outcome does.
func TestProgressOfAnMCPCallIsShown(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "hub", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "scan", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Message: "scanning <@U0MGR> shelves\u202E", Progress: 2, Total: 3,
			})
			select {
			case <-finish:
			case <-ctx.Done():
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "nothing strange"}}}, nil, err
		})
	hub := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(hub.Close)
	w := apptest.Start(t, apptest.Options{
		YAML:  fmt.Sprintf("  mcp:\n    - {name: hub, url: %q, trusted: true}\nlimits: {tool_timeout: 1m}\n", hub.URL), // the call lasts until its progress was shown
		Model: apptest.Play(apptest.Calls("hub_scan", `{}`), apptest.Says("All is well.")),
	})
	w.Slack.User("ana").Says("#ops", "@countersign scan the shelves")
	running := w.Slack.Expect(slacktest.Text("hub_scan"), slacktest.Text("shelves⟨U+202E⟩ (2 of 3)"))
	close(finish)
	w.Slack.Expect(answer, slacktest.Text("All is well."))
	w.Slack.ExpectUpdate(running, slacktest.Text("nothing strange"), slacktest.NoText("2 of 3"))
}
