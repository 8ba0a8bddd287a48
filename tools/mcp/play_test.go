package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// play is what the test binary does as a server on standard input and output.
func play(role string) error {
	s := newLocal(nil)
	switch role {
	case "environment":
		s.add(&mcp.Tool{Name: "env"}, says(strings.Join(os.Environ(), "\n")))
	case "mortal": // it counts its lives in a file and dies in the middle of a call
		s.add(&mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := appendTo(os.Getenv("LIVES"), "x"); err != nil {
				return nil, err
			}
			os.Exit(3)
			return nil, nil
		})
		s.add(&mcp.Tool{Name: "live"}, says("alive"))
	case "parent": // it starts a child that would outlive it, and then listens to nobody
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			return err
		}
		s.add(&mcp.Tool{Name: "child"}, says(fmt.Sprint(child.Process.Pid)))
		err := s.Run(context.Background(), &mcp.StdioTransport{})
		time.Sleep(time.Hour) // its end is not ours to wait for
		return err
	case "loud":
		fmt.Fprintln(os.Stderr, "token", os.Getenv("TOKEN"), strings.Repeat("y", 9000))
		for i := range 2 * maxLines {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		s.add(&mcp.Tool{Name: "env"}, says("quiet"))
	case "flood": // more than anybody reads, in one piece
		s.add(&mcp.Tool{Name: "much"}, says(strings.Repeat("y", 20<<20)))
		s.add(&mcp.Tool{Name: "little"}, says("here"))
	case "silent":
		time.Sleep(time.Hour)
	default:
		return errors.New("there is no role " + role)
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
