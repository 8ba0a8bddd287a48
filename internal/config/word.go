package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// scalar decodes one word into a string, number, truth value, time or secret.
func (d *decoder) scalar(n ast.Node, v reflect.Value, key string, f field) {
	text, ok := d.word(n, v, key)
	if !ok {
		return
	}
	text, ok = d.fill(n, text, key, v.Type() == secretType, f.expand)
	if !ok {
		return
	}
	if err := setWord(v, text, n.Type()); err != nil {
		d.fail(n, key, "%v", err)
		return
	}
	if err := checkTags(v, f); err != nil {
		d.fail(n, key, "%v", err)
	}
}

// word gives the text of a scalar node. Texts may be written as numbers (a
// version, a port), never as truth values, which YAML makes of words.
func (d *decoder) word(n ast.Node, v reflect.Value, key string) (string, bool) {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.LiteralNode:
		return t.Value.Value, true
	case *ast.IntegerNode:
		if v.Kind() == reflect.Int {
			return fmt.Sprint(t.Value), true // 0x10 and 1_000 are numbers too
		}
		return t.Token.Value, true
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	case *ast.BoolNode:
		if v.Kind() == reflect.Bool {
			return strconv.FormatBool(t.Value), true
		}
		d.fail(n, key, "here stands a text; write it in quotes")
		return "", false
	}
	d.fail(n, key, "here stands one value, not a list or settings")
	return "", false
}

// fill replaces ${VAR} and file:PATH where the setting takes them, and warns
// where somebody seems to expect it in vain.
func (d *decoder) fill(n ast.Node, text, key string, secret, expand bool) (string, bool) {
	var err error
	switch {
	case secret:
		text, err = d.values.secret(text)
	case expand:
		if name := credentialIn(text, key); name != "" {
			d.warnings = append(d.warnings, d.place(n, key,
				"%s becomes a part of the address, which cards, the record and the model see; a credential belongs into headers", name))
		}
		text, err = d.values.expand(text)
	case variable.MatchString(text):
		d.warnings = append(d.warnings, d.place(n, key,
			"%s is not filled in here; only secrets and addresses take variables", variable.FindString(text)))
	}
	if err != nil {
		d.fail(n, key, "%v", err)
		return "", false
	}
	return text, true
}

// credentialIn gives the first variable in the path of a tool's address whose name says
// that it is a credential. Of a query such values are masked.
func credentialIn(text, key string) string {
	path, _, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(key, "tools.http[") && !strings.HasPrefix(key, "tools.openapi[") {
		return ""
	}
	for _, v := range variable.FindAllString(path, -1) {
		if !strings.HasPrefix(v, "$$") && credentialName.MatchString(v) {
			return v
		}
	}
	return ""
}

var credentialName = regexp.MustCompile(`(?i)token|secret|passw|credential|webhook|api_?key`)

// setWord parses the text into v.
func setWord(v reflect.Value, text string, written ast.NodeType) error {
	if own, ok := v.Addr().Interface().(scalar); ok {
		return own.parse(text)
	}
	switch {
	case v.Type() == secretType:
		v.Set(reflect.ValueOf(NewSecret(text)))
	case v.Type() == durationType:
		t, err := parseDuration(text)
		v.SetInt(int64(t))
		return err
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		if written != ast.BoolType {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case v.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		v.SetInt(int64(n))
	case v.Kind() == reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x-x != 0 { // infinities and NaN
			return fmt.Errorf("%q is no number", text)
		}
		v.SetFloat(x)
	}
	return nil
}

// checkTags holds a value against its field's enum and min.
func checkTags(v reflect.Value, f field) error {
	if f.enum != nil && !slices.Contains(f.enum, v.String()) {
		return fmt.Errorf("%q is not one of %s", v.String(), strings.Join(f.enum, ", "))
	}
	if f.min == "" {
		return nil
	}
	if v.Type() == durationType {
		least, err := time.ParseDuration(f.min)
		if err != nil || time.Duration(v.Int()) < least {
			return fmt.Errorf("must be at least %s", f.min)
		}
		return nil
	}
	least, err := strconv.ParseFloat(f.min, 64)
	if err != nil || asFloat(v) < least {
		return fmt.Errorf("must be at least %s", f.min)
	}
	return nil
}

func asFloat(v reflect.Value) float64 {
	if v.Kind() == reflect.Float64 {
		return v.Float()
	}
	return float64(v.Int())
}

// raw decodes any value into JSON, numbers as they were written.
func (d *decoder) raw(n ast.Node, v reflect.Value, key string) {
	if len(d.entries(n, key)) == 0 {
		return
	}
	data, err := json.Marshal(d.plain(n, key))
	if err != nil {
		d.fail(n, key, "cannot be written as JSON")
		return
	}
	v.SetBytes(data)
}

// jsonNumber is how JSON writes numbers; YAML knows more ways.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// plain turns a node into maps, slices and scalars.
func (d *decoder) plain(n ast.Node, key string) any {
	leave, ok := d.enter(n, key)
	defer leave()
	if !ok {
		return nil
	}
	switch t := d.resolve(n, key).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		out := map[string]any{}
		for _, e := range d.entries(t, key) {
			out[keyText(e.Key)] = d.plain(e.Value, joinKey(key, keyText(e.Key)))
		}
		return out
	case *ast.SequenceNode:
		out := make([]any, len(t.Values))
		for i, item := range t.Values {
			out[i] = d.plain(item, key)
		}
		return out
	case *ast.BoolNode:
		return t.Value
	case *ast.StringNode:
		return t.Value
	case *ast.LiteralNode:
		return t.Value.Value
	case *ast.IntegerNode:
		return number(t.Token.Value, t.Value)
	case *ast.FloatNode:
		return number(t.Token.Value, t.Value)
	}
	return nil
}

// number keeps a number's digits where JSON writes it the same way.
func number(written string, value any) any {
	if jsonNumber.MatchString(written) {
		return json.Number(written)
	}
	return value
}
