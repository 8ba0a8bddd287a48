package tools

import (
	"bytes"
	"encoding/json"
	"errors"
)

// member is one name and value of a JSON object, the value as it was written.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object in the order it was written.
type object struct{ list []member }

// members reads the top level of an object and keeps its order.
func members(raw json.RawMessage) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	o := &object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := token.(string) // a valid text has nothing else here
		o.list = append(o.list, member{name, value})
	}
	_, err = dec.Token()
	return o, err
}

func (o *object) find(name string) int {
	for i, m := range o.list {
		if m.name == name {
			return i
		}
	}
	return -1
}

func (o *object) has(name string) bool { return o.find(name) >= 0 }

func (o *object) get(name, otherwise string) json.RawMessage {
	if i := o.find(name); i >= 0 {
		return o.list[i].value
	}
	return json.RawMessage(otherwise)
}

func (o *object) set(name string, value json.RawMessage) {
	if i := o.find(name); i >= 0 {
		o.list[i].value = value
		return
	}
	o.list = append(o.list, member{name, value})
}

func (o *object) prepend(name string, value json.RawMessage) *object {
	return &object{list: append([]member{{name, value}}, o.list...)}
}

func (o *object) encode() json.RawMessage {
	out := []byte{'{'}
	for i, m := range o.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(out, m.name)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
