// Package pager tells the person on duty.
package pager

import (
	"context"

	"countersign/tools"
)

type page struct {
	Team string `json:"team" jsonschema:"whom to wake: web or data"`
	Text string `json:"text" jsonschema:"what happened, one sentence"`
}

// Duty is the service behind the tool.
type Duty interface {
	Who(ctx context.Context, team string) (string, error)
	Page(ctx context.Context, key, team, text string) error
}

// New makes the tool.
func New(d Duty) (tools.Tool, error) {
	spec := tools.Spec{Name: "page_duty", Description: "Wakes the person on duty.", Risk: tools.High, Effects: true, Idempotent: true}
	return tools.New(spec,
		func(ctx context.Context, c tools.Call, in page) (tools.Result, error) {
			err := d.Page(ctx, c.IdempotencyKey(), in.Team, in.Text)
			return tools.Result{Text: "paged", Effect: "paged " + in.Team}, err
		},
		tools.WithPreview(func(ctx context.Context, _ tools.Call, in page) (tools.Preview, error) {
			who, err := d.Who(ctx, in.Team)
			return tools.Preview{Summary: who + " would be woken", Material: map[string]string{"who": who}}, err
		}))
}
