// Command worker lets another process drive the engine, to measure it: one JSON
// command a line on standard input, one JSON reply a line on standard output. The
// environment says where: STORE (sqlite:FILE or postgres://…), MODEL_URL, EFFECTS (a
// file that tools append to), DATA_DIR (the folder that read_file reads), HANG_AT
// (tool or tool:step), QUEUE (not empty: the queue advances runs, as in the program).
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"countersign/bench"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	c := bench.Config{
		Database: os.Getenv("STORE"), ModelURL: os.Getenv("MODEL_URL"), Queue: os.Getenv("QUEUE") != "",
		Hands:  bench.Hands{Files: os.Getenv("DATA_DIR"), HangAt: os.Getenv("HANG_AT")},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if path := os.Getenv("EFFECTS"); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // every line was one write
		c.Hands.Effects = f
	}
	e, err := bench.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return (&server{engine: e}).serve(ctx, os.Stdin, os.Stdout)
}
