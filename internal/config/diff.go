package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Difference is one setting that two configurations do not share. Of a secret it says
// that it changed, not what it is.
type Difference struct {
	Key      string // as in messages: tools.http[0].url
	Old, New string // empty: not set
}

// Diff lists what differs, in the order of the settings.
func Diff(before, after *Config) []Difference {
	var out []Difference
	differ(&out, "", reflect.ValueOf(*before), reflect.ValueOf(*after))
	return out
}

// differ compares two values of one type; an invalid one is not there.
func differ(out *[]Difference, key string, a, b reflect.Value) {
	a, b = inside(a), inside(b)
	if !a.IsValid() && !b.IsValid() {
		return
	}
	if a.IsValid() && b.IsValid() {
		switch {
		case a.Type() == secretType:
			if a.Interface() != b.Interface() {
				*out = append(*out, Difference{key, placeholder, placeholder})
			}
			return
		case a.Kind() == reflect.Struct:
			for _, f := range fieldsOf(a.Type()) {
				differ(out, joinKey(key, f.name), a.FieldByIndex(f.index), b.FieldByIndex(f.index))
			}
			return
		case a.Kind() == reflect.Map:
			differMaps(out, key, a, b)
			return
		case a.Kind() == reflect.Slice && (composite(a) || composite(b)):
			for i := range max(a.Len(), b.Len()) {
				differ(out, item(key, i), at(a, i), at(b, i))
			}
			return
		}
	}
	if old, now := shown(a), shown(b); old != now {
		*out = append(*out, Difference{key, old, now})
	}
}

func differMaps(out *[]Difference, key string, a, b reflect.Value) {
	names := map[string]reflect.Value{}
	for _, m := range []reflect.Value{a, b} {
		for _, k := range m.MapKeys() {
			names[fmt.Sprint(k.Interface())] = k
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		differ(out, joinKey(key, name), a.MapIndex(names[name]), b.MapIndex(names[name]))
	}
}

// inside follows pointers; nil is not there.
func inside(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// composite says that a list holds more than plain words or bytes.
func composite(v reflect.Value) bool {
	kind := v.Type().Elem().Kind()
	return kind == reflect.Struct || kind == reflect.Pointer || kind == reflect.Map
}

func at(v reflect.Value, i int) reflect.Value {
	if i < v.Len() {
		return v.Index(i)
	}
	return reflect.Value{}
}

// shown is a value for people. What holds other settings is named, not printed, so
// that no secret within it is.
func shown(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	if v.Kind() == reflect.Struct || v.Kind() == reflect.Map {
		return "(set)"
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return string(v.Bytes())
	}
	return fmt.Sprint(v.Interface())
}
