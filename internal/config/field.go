package config

import (
	"reflect"
	"strings"
)

// field is one setting of a struct, as its tags describe it.
type field struct {
	name   string
	doc    string
	enum   []string // the words allowed; nil: any
	min    string   // the smallest number or duration; "": any
	need   bool
	expand bool
	index  []int
	typ    reflect.Type
}

// fieldsOf lists the settings of a struct in their order, those of embedded structs included.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		out = append(out, describe(f))
	}
	return out
}

func describe(f reflect.StructField) field {
	d := field{
		name: f.Tag.Get("yaml"), doc: f.Tag.Get("doc"), min: f.Tag.Get("min"),
		need: f.Tag.Get("need") == "yes", expand: f.Tag.Get("expand") == "yes",
		index: f.Index, typ: f.Type,
	}
	if words := f.Tag.Get("enum"); words != "" {
		d.enum = strings.Split(words, ",")
	}
	return d
}

// allKeys lists every key of the configuration without indices, like
// tools.http.preview.url; map keys appear as *.
func allKeys(t reflect.Type, prefix string) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return allKeys(t.Elem(), prefix)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return allKeys(t.Elem(), prefix)
	case reflect.Map:
		return allKeys(t.Elem(), prefix+".*")
	case reflect.Struct:
	default:
		return nil
	}
	if t == secretType {
		return nil
	}
	var out []string
	for _, f := range fieldsOf(t) {
		key := strings.TrimPrefix(prefix+"."+f.name, ".")
		out = append(out, key)
		out = append(out, allKeys(f.typ, key)...)
	}
	return out
}
