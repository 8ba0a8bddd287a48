package blockkit

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/mail"
	"net/url"
	"strings"
)

// State is what an element holds before anybody touched it, as it stands in
// state.values; nil for elements that hold nothing, such as buttons.
func (f Found) State() map[string]any {
	e := f.Element
	switch f.Type {
	case "plain_text_input", "number_input", "email_text_input", "url_text_input":
		return map[string]any{"type": f.Type, "value": emptyIsNull(e["initial_value"])}
	case "rich_text_input":
		return map[string]any{"type": f.Type, "rich_text_value": e["initial_value"]}
	case "static_select", "external_select", "radio_buttons":
		return map[string]any{"type": f.Type, "selected_option": e["initial_option"]}
	case "multi_static_select", "multi_external_select", "checkboxes":
		return map[string]any{"type": f.Type, "selected_options": orEmpty(e["initial_options"])}
	case "users_select", "conversations_select", "channels_select":
		kind := strings.TrimSuffix(f.Type, "s_select")
		return map[string]any{"type": f.Type, "selected_" + kind: e["initial_"+kind]}
	case "multi_users_select", "multi_conversations_select", "multi_channels_select":
		kind := strings.TrimPrefix(strings.TrimSuffix(f.Type, "_select"), "multi_")
		return map[string]any{"type": f.Type, "selected_" + kind: orEmpty(e["initial_"+kind])}
	case "datepicker":
		return map[string]any{"type": f.Type, "selected_date": e["initial_date"]}
	case "timepicker":
		return map[string]any{"type": f.Type, "selected_time": e["initial_time"]}
	case "datetimepicker":
		return map[string]any{"type": f.Type, "selected_date_time": e["initial_date_time"]}
	case "file_input":
		return map[string]any{"type": f.Type, "files": []any{}}
	}
	return nil
}

func emptyIsNull(v any) any {
	if v == "" {
		return nil
	}
	return v
}

func orEmpty(v any) any {
	if v == nil {
		return []any{}
	}
	return v
}

// Refuse says what Slack's client shows at an input that may not be sent like
// this; empty: it may. The state is the element's object of state.values.
func (f Found) Refuse(state json.RawMessage) string {
	var m map[string]any
	if decode(state, &m) != nil || isEmpty(m) {
		if f.Optional {
			return ""
		}
		return "Please complete this required field."
	}
	value, _ := m["value"].(string)
	switch f.Type {
	case "plain_text_input":
		return f.refuseText(value)
	case "number_input":
		return f.refuseNumber(value)
	case "email_text_input":
		if _, err := mail.ParseAddress(value); err != nil {
			return "Please enter a valid email address."
		}
	case "url_text_input":
		if u, err := url.Parse(value); err != nil || u.Scheme == "" || u.Host == "" {
			return "Please enter a valid URL."
		}
	}
	return ""
}

// isEmpty reports whether nothing was entered or chosen.
func isEmpty(state map[string]any) bool {
	for key, v := range state {
		if key == "type" || v == nil || v == "" {
			continue
		}
		if list, ok := v.([]any); ok && len(list) == 0 {
			continue
		}
		return false
	}
	return true
}

func (f Found) refuseText(value string) string {
	most := intOf(f.Element["max_length"])
	if most == 0 {
		most = 3000
	}
	switch n := length(value); {
	case n > most:
		return fmt.Sprintf("Please enter at most %d characters.", most)
	case n < intOf(f.Element["min_length"]):
		return fmt.Sprintf("Please enter at least %d characters.", intOf(f.Element["min_length"]))
	}
	return ""
}

func (f Found) refuseNumber(value string) string {
	n, ok := new(big.Rat).SetString(value)
	if !ok || strings.ContainsAny(value, "/eE_xX") {
		return "Please enter a number."
	}
	if decimals, _ := f.Element["is_decimal_allowed"].(bool); !decimals && !n.IsInt() {
		return "Please enter a whole number."
	}
	if least, ok := rat(f.Element["min_value"]); ok && n.Cmp(least) < 0 {
		return "Please enter a number of at least " + least.RatString() + "."
	}
	if most, ok := rat(f.Element["max_value"]); ok && n.Cmp(most) > 0 {
		return "Please enter a number of at most " + most.RatString() + "."
	}
	return ""
}

func rat(v any) (*big.Rat, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
