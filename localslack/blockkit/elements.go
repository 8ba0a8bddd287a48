package blockkit

import "slices"

// elementSpec says what an element may hold and where it may stand.
type elementSpec struct {
	fields fields
	in     []string // places: section, actions, input, context, context_actions, card
}

// elementIn checks an element that stands in the given place.
func elementIn(place string) rule {
	return func(c *checker, path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			c.fail(path, "must be an object")
			return
		}
		kind, _ := m["type"].(string)
		spec, ok := elementTable()[kind]
		if !ok || !slices.Contains(spec.in, place) {
			c.fail(path+"/type", "unsupported type: %s", kind)
			return
		}
		c.object(path, m, spec.fields)
		c.elementExtra(path, kind, m)
	}
}

func (c *checker) elementExtra(path, kind string, m map[string]any) {
	_, options := m["options"]
	_, groups := m["option_groups"]
	switch kind {
	case "static_select", "multi_static_select":
		if options == groups {
			c.fail(path, "exactly one of options and option_groups is needed")
		}
	case "image":
		oneImageSource(c, path, m)
	case "plain_text_input":
		initial, _ := m["initial_value"].(string)
		if most := intOf(m["max_length"]); most > 0 && length(initial) > most {
			c.fail(path+"/initial_value", "must be less than %d characters", most+1)
		}
		if length(initial) > 3000 {
			c.fail(path+"/initial_value", "must be less than 3001 characters")
		}
	}
}

// with adds fields to the ones that every interactive element has.
func with(extra fields) fields {
	all := fields{"action_id": may(str(1, 255)), "confirm": may(confirm), "focus_on_load": may(boolean)}
	for k, f := range extra {
		all[k] = f
	}
	return all
}

func button(extra fields) fields {
	all := fields{
		"text": must(plain(75)), "action_id": may(str(1, 255)), "url": may(str(1, 3000)), "value": may(str(0, 2000)),
		"style": may(oneOf("primary", "danger")), "confirm": may(confirm), "accessibility_label": may(str(1, 75)),
	}
	for k, f := range extra {
		all[k] = f
	}
	return all
}

func picker(kind string) fields {
	all := fields{"placeholder": may(plain(150)), "response_url_enabled": may(boolean)}
	switch kind {
	case "static":
		all["options"], all["option_groups"] = may(list(1, 100, option)), may(list(1, 100, optionGroup))
	case "external":
		all["min_query_length"] = may(integer(0, 1000))
	case "conversations":
		all["default_to_current_conversation"] = may(boolean)
		all["filter"] = may(anything)
	}
	return all
}

func single(kind string, initial rule) fields {
	f := picker(kind)
	f["initial_"+initialName(kind)] = may(initial)
	return with(f)
}

func multi(kind string, item rule) fields {
	f := picker(kind)
	f["initial_"+initialName(kind)+"s"] = may(list(0, 100, item))
	f["max_selected_items"] = may(integer(1, 1000))
	return with(f)
}

func initialName(kind string) string {
	switch kind {
	case "static", "external":
		return "option"
	}
	return kind[:len(kind)-1] // users: user
}

// elementSpecs makes the table of all elements.
func elementSpecs() map[string]elementSpec {
	id := str(1, 50)
	choice := []string{"section", "actions", "input"}
	action := []string{"section", "actions", "card"}
	specs := map[string]elementSpec{
		"button":          {button(nil), action},
		"workflow_button": {button(fields{"workflow": must(anything)}), action},
		"overflow":        {with(fields{"options": must(list(1, 5, option))}), []string{"section", "actions"}},
		"datepicker":      {with(fields{"initial_date": may(str(10, 10)), "placeholder": may(plain(150))}), choice},
		"timepicker":      {with(fields{"initial_time": may(str(5, 5)), "placeholder": may(plain(150)), "timezone": may(str(1, 100))}), choice},
		"datetimepicker":  {with(fields{"initial_date_time": may(integer(1, 1<<40))}), []string{"actions", "input"}},
		"radio_buttons":   {with(fields{"options": must(list(1, 10, option)), "initial_option": may(option)}), choice},
		"checkboxes":      {with(fields{"options": must(list(1, 10, option)), "initial_options": may(list(1, 10, option))}), choice},
		"image":           {imageFields(), []string{"section", "context"}},
		"icon_button":     {button(fields{"icon": must(oneOf("trash")), "visible_to_user_ids": may(list(1, 100, id))}), []string{"context_actions"}},
		"feedback_buttons": {fields{
			"action_id": may(str(1, 255)), "positive_button": must(feedbackButton), "negative_button": must(feedbackButton),
		}, []string{"context_actions"}},
		"file_input":      {with(fields{"filetypes": may(list(1, 100, str(1, 50))), "max_files": may(integer(1, 10))}), []string{"input"}},
		"rich_text_input": {with(fields{"initial_value": may(richText), "placeholder": may(plain(150)), "dispatch_action_config": may(dispatchConfig), "min_lines": may(integer(1, 100)), "max_lines": may(integer(1, 100))}), []string{"input"}},
		"number_input": {textInput(fields{
			"is_decimal_allowed": must(boolean), "initial_value": may(str(1, 3000)), "min_value": may(str(1, 100)), "max_value": may(str(1, 100)),
		}), []string{"input"}},
		"email_text_input": {textInput(fields{"initial_value": may(str(1, 3000))}), []string{"input"}},
		"url_text_input":   {textInput(fields{"initial_value": may(str(1, 3000))}), []string{"input"}},
		"plain_text_input": {textInput(fields{
			"initial_value": may(str(0, 3000)), "multiline": may(boolean), "min_length": may(integer(0, 3000)), "max_length": may(integer(1, 3000)),
		}), []string{"input"}},
	}
	for _, kind := range []string{"static", "external", "users", "conversations", "channels"} {
		item := id
		if kind == "static" || kind == "external" {
			item = option
		}
		specs[kind+"_select"] = elementSpec{single(kind, item), choice}
		specs["multi_"+kind+"_select"] = elementSpec{multi(kind, item), []string{"section", "input"}}
	}
	return specs
}

func textInput(extra fields) fields {
	extra["placeholder"], extra["dispatch_action_config"] = may(plain(150)), may(dispatchConfig)
	extra["action_id"], extra["focus_on_load"] = may(str(1, 255)), may(boolean)
	return extra
}

func feedbackButton(c *checker, path string, v any) {
	obj(fields{"text": must(plain(75)), "value": must(str(1, 2000)), "accessibility_label": may(str(1, 75))})(c, path, v)
}
