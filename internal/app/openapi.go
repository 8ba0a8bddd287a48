package app

import (
	"os"

	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/tools"
	"countersign/tools/httpapi"
	"countersign/tools/httpapi/openapi"
)

// openAPITools makes the chosen operations of described services into tools.
func (a *edition) openAPITools() ([]tools.Tool, error) {
	var out []tools.Tool
	for i := range a.cfg.Tools.OpenAPI {
		ts, err := a.described(&a.cfg.Tools.OpenAPI[i])
		if err != nil {
			return nil, err
		}
		out = append(out, ts...)
	}
	return out, nil
}

// described makes the tools of one service.
func (a *edition) described(o *config.OpenAPI) ([]tools.Tool, error) {
	text, err := os.ReadFile(o.File)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.openapi: the document %s cannot be read.", o.File)
	}
	list, err := openapi.Declare(text, o.URL, operations(o))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "tools.openapi: %s: %s.", o.File, err)
	}
	out := make([]tools.Tool, len(list))
	for i, declared := range list {
		if a.ownAddress(declared.URL) {
			return nil, fault.New(fault.Invalid, "tools.openapi %s calls countersign's own listener %s, which no tool may reach.", declared.Name, a.cfg.HTTP.Addr)
		}
		if out[i], err = httpapi.New(declared, httpapi.Options{}); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "tools.openapi: %s: %s.", o.File, err)
		}
	}
	return out, nil
}

// operations are the chosen ones, with what the document does not say.
func operations(o *config.OpenAPI) []openapi.Operation {
	headers := map[string]string{}
	for name, value := range o.Headers {
		headers[name] = value.Reveal()
	}
	out := make([]openapi.Operation, len(o.Operations))
	for i, op := range o.Operations {
		out[i] = openapi.Operation{ID: op.ID, Tool: httpapi.Tool{
			Name: op.Name, Description: op.Description, Headers: headers, Risk: tools.Risk(op.Risk), Roles: op.Roles, Channels: idsOf(op.Channels),
			Idempotent: op.Idempotent, Window: op.Window, Private: op.Private, PrivateNetwork: o.PrivateNetwork, Egress: op.Egress, Timeout: op.Timeout,
		}}
		if p := op.Preview; p != nil {
			out[i].PreviewID, out[i].PreviewFields = p.ID, p.Fields
		}
	}
	return out
}
