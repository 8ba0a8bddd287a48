// Command compose reads a compose file and the variables beside it as Docker Compose does,
// and prints what comes of it as JSON: every anchor merged, every variable filled in.
//
//	compose FILE ENV_FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := resolve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func resolve(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: compose FILE ENV_FILE")
	}
	options, err := cli.NewProjectOptions(args[:1], cli.WithEnvFiles(args[1]), cli.WithDotEnv, cli.WithResolvedPaths(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	out, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	fmt.Println(string(out))
	return nil
}
