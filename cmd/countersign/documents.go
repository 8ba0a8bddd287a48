package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"countersign/bot/slacktext"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/tools/docs"
)

type docsCmd struct {
	Trash   docsTrashCmd   `cmd:"" help:"List documents that delete_document moved to the trash, the latest first."`
	Restore docsRestoreCmd `cmd:"" help:"Put a document of the trash back where it was."`
}

// folder is the configured one.
func (e *env) folder() (docs.Config, error) {
	cfg, err := e.load()
	if err != nil {
		return docs.Config{}, err
	}
	if cfg.Tools.Docs == nil {
		return docs.Config{}, fault.New(fault.Invalid, "The configuration has no tools.docs.")
	}
	return docs.Config{Path: cfg.Tools.Docs.Path}, nil
}

type docsTrashCmd struct{}

// Run lists the trash.
func (*docsTrashCmd) Run(e *env) error {
	folder, err := e.folder()
	if err != nil {
		return err
	}
	all, err := docs.Trash(folder)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "The trash in %s cannot be read.", folder.Path)
	}
	return list(e, all, "nothing in the trash", "NAME\tWAS\tDELETED\tBYTES", func(k *docs.Kept) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d", slacktext.Draw(k.Name), slacktext.Draw(k.Path), instant(k.At), k.Size)
	})
}

type docsRestoreCmd struct {
	Name string `arg:"" help:"Its id, or its name in the trash, as docs trash prints it."`
}

// Run restores a document, and records it.
func (c *docsRestoreCmd) Run(e *env) error {
	folder, err := e.folder()
	if err != nil {
		return err
	}
	return e.operate(func(o *app.Operator) error {
		k, err := docs.Restore(folder, c.Name)
		switch {
		case errors.Is(err, docs.ErrNotKept):
			return fault.Wrap(err, fault.NotFound, "The trash has no %q: `countersign docs trash`.", c.Name)
		case errors.Is(err, docs.ErrSeveral):
			return fault.Wrap(err, fault.Conflict, "The trash has several %q, so say which one by its name there: %s.", c.Name, namesOf(folder, c.Name))
		case errors.Is(err, docs.ErrInPlace):
			return fault.Wrap(err, fault.Conflict, "There is another document at %s; nothing was moved.", slacktext.Draw(k.Path))
		case err != nil:
			return err
		}
		fmt.Fprintf(e.out, "%s is back.\n", slacktext.Draw(k.Path))
		data, err := json.Marshal(map[string]string{"name": k.Name})
		if err != nil {
			return err
		}
		return o.Store.Refuse(e.ctx, []audit.Entry{{At: e.now(), Kind: "document.restored", Via: via(), Data: string(data)}})
	})
}

// namesOf lists the names in the trash that an id may mean.
func namesOf(folder docs.Config, id string) string {
	found, err := docs.Find(folder, id)
	if err != nil {
		return "see `countersign docs trash`"
	}
	var names []string
	for _, k := range found {
		names = append(names, slacktext.Draw(k.Name))
	}
	return strings.Join(names, ", ")
}
