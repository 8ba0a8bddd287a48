package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// object is a JSON object; encoding/json writes its keys in order, which keeps
// the schema's text stable.
type object map[string]any

// schemaDialect is the JSON Schema version that editors are told.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// durationPattern is what parseDuration reads.
const durationPattern = `^([0-9]{1,5}d|0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`

// bytesPattern is what Bytes reads.
const bytesPattern = `^[0-9]+(\.[0-9]+)? ?(KiB|MiB|GiB|kB|MB|GB|B)?$`

// Schema is the JSON Schema (draft 2020-12) of countersign.yaml, made from the
// same fields that Load reads, with their defaults, indented.
func Schema() ([]byte, error) {
	root := structSchema(reflect.ValueOf(*Default()))
	root["$schema"] = schemaDialect
	root["title"] = "countersign.yaml"
	data, err := json.MarshalIndent(root, "", "  ")
	return append(data, '\n'), err
}

// structSchema describes a struct; v holds its defaults.
func structSchema(v reflect.Value) object {
	properties := object{}
	var need []string
	for _, f := range fieldsOf(v.Type()) {
		s := valueSchema(v.FieldByIndex(f.index), f)
		s["description"] = f.doc
		properties[f.name] = s
		if f.need {
			need = append(need, f.name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if need != nil {
		out["required"] = need
	}
	return out
}

// valueSchema describes one setting; v holds its default.
func valueSchema(v reflect.Value, f field) object {
	switch {
	case v.Type() == secretType, v.Type() == durationType, isScalar(v.Type()):
		return wordSchema(v, f)
	case v.Type() == rawType:
		return object{"type": "object"}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return valueSchema(fresh(v.Type().Elem()), f)
	case reflect.Struct:
		return structSchema(v)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": valueSchema(fresh(v.Type().Elem()), f)}
	case reflect.Slice:
		return object{"type": "array", "items": valueSchema(fresh(v.Type().Elem()), f)}
	default:
		return wordSchema(v, f)
	}
}

// fresh is a value of the type with the defaults of its own.
func fresh(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if with, ok := v.Interface().(defaulter); ok {
		with.setDefaults()
	}
	return v.Elem()
}

func isScalar(t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[scalar]()) }

// wordSchema describes a setting that is one word.
func wordSchema(v reflect.Value, f field) object {
	s := wordType(v)
	if f.enum != nil {
		s["enum"] = f.enum
	}
	least, err := strconv.ParseFloat(f.min, 64)
	if err == nil && s["type"] != "string" && v.Type() != reflect.TypeFor[Bytes]() {
		s["minimum"] = least
	}
	if !v.IsZero() && v.Type() != reflect.TypeFor[Bytes]() && v.Type() != secretType {
		s["default"] = v.Interface()
	}
	if v.Type() == durationType && !v.IsZero() {
		s["default"] = time.Duration(v.Int()).String()
	}
	return s
}

func wordType(v reflect.Value) object {
	switch v.Interface().(type) {
	case time.Duration:
		return object{"type": "string", "pattern": durationPattern}
	case Bytes:
		return object{"anyOf": []object{{"type": "string", "pattern": bytesPattern}, {"type": "integer", "minimum": 0}}}
	case UserID:
		return object{"type": "string", "pattern": "^[UW][A-Z0-9]+$"}
	case UsergroupID:
		return object{"type": "string", "pattern": "^S[A-Z0-9]+$"}
	case ChannelID:
		return object{"type": "string", "pattern": "^([CGD][A-Z0-9]+)?$"}
	}
	switch v.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	default:
		return object{"type": "string"}
	}
}
