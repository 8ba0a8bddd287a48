package blockkit

import "encoding/json"

// CheckView checks a whole view object: its kind must be the surface's.
func CheckView(raw json.RawMessage, where Surface) *Problem {
	var view map[string]any
	if decode(raw, &view) != nil {
		return &Problem{Code: "invalid_arguments", Messages: []string{"[ERROR] view must be an object"}}
	}
	if len(raw) > maxView {
		return &Problem{Code: "view_too_large"}
	}
	c := newChecker(where)
	kind, spec := "modal", fields{
		"title": must(plain(24)), "submit": may(plain(24)), "close": may(plain(24)), "clear_on_close": may(boolean),
		"notify_on_close": may(boolean), "submit_disabled": may(boolean),
	}
	if where == Home {
		kind, spec = "home", fields{}
	}
	if view["type"] != kind {
		c.fail("/view/type", "unsupported type: %v", view["type"])
	}
	spec["blocks"] = must(func(c *checker, path string, v any) { c.blocks(path, v) })
	spec["private_metadata"], spec["callback_id"], spec["external_id"] = may(str(0, 3000)), may(str(0, 255)), may(str(0, 255))
	c.object("/view", view, spec)
	if _, submit := view["submit"]; where == Modal && c.inputs > 0 && !submit {
		c.fail("/view/submit", "missing required field: submit")
	}
	if len(c.problems) > 0 {
		return &Problem{Code: "invalid_arguments", Messages: c.problems}
	}
	return nil
}
