package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files anew")

// TestGeneratedFilesAreCurrent compares the files that are made from the structs.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"../../deploy/countersign.schema.json": string(schema),
		"../../docs/configuration.md":          reference(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is not current; run make generate (-want +got):\n%s", path, diff)
		}
	}
}

const referenceHead = `# Configuration

<!-- Made from the structs of internal/config by make generate. -->

` + "`countersign.yaml`" + ` holds the settings below; each is optional unless it says *needed*. An annotated example is
[deploy/countersign.example.yaml](../deploy/countersign.example.yaml), a schema for editors
[deploy/countersign.schema.json](../deploy/countersign.schema.json). Unknown keys, names where ids belong and settings
of a later version stop the start, with file, line and column; ` + "`countersign config check`" + ` says the same without
starting.

- **Secrets** take ` + "`${VAR}`" + ` from the environment and ` + "`file:PATH`" + ` from a file; addresses take ` + "`${VAR}`" + `. A doubled dollar
  stands for itself. Secrets are never printed.
- **Times** are like 30s, 10m, 24h, 7d. **Sizes** are like 64KiB, 256MiB.
- **Ids** are Slack's own (U…, S…, C…); ` + "`countersign ids NAME`" + ` finds them.
- **Paths** are relative to the folder in which the process was started.

These environment variables win over the file:

`

// reference is the text of docs/configuration.md.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("| variable | setting |\n|---|---|\n")
	for _, o := range fromEnvironment {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", o.variable, o.key)
	}
	defaults := reflect.ValueOf(*Default())
	for _, f := range fieldsOf(defaults.Type()) {
		fmt.Fprintf(&b, "\n## %s\n\n%s%s\n", f.name, f.doc, notYet(f.name))
		rows := referenceRows(f.name, defaults.FieldByIndex(f.index))
		if len(rows) > 0 {
			b.WriteString("\n| setting | default | meaning |\n|---|---|---|\n" + strings.Join(rows, ""))
		}
	}
	return b.String()
}

// notYet marks what this version refuses.
func notYet(key string) string {
	for _, f := range unavailable {
		if f.key == key {
			return " *Not available in this version: " + f.what + ".*"
		}
	}
	return ""
}

// referenceRows describes the settings below a key; lists show as key[], names as key.NAME.
func referenceRows(key string, v reflect.Value) []string {
	switch {
	case v.Type() == secretType, v.Type() == rawType, isScalar(v.Type()):
		return nil
	case v.Kind() == reflect.Pointer:
		return referenceRows(key, fresh(v.Type().Elem()))
	case v.Kind() == reflect.Slice:
		return referenceRows(key+"[]", fresh(v.Type().Elem()))
	case v.Kind() == reflect.Map:
		return referenceRows(key+".NAME", fresh(v.Type().Elem()))
	case v.Kind() != reflect.Struct:
		return nil
	}
	var out []string
	for _, f := range fieldsOf(v.Type()) {
		inner, at := v.FieldByIndex(f.index), key+"."+f.name
		out = append(out, fmt.Sprintf("| `%s` | %s | %s%s%s |\n", at, referenceDefault(inner, f), f.doc, words(f), notYet(at)))
		out = append(out, referenceRows(at, inner)...)
	}
	return out
}

func referenceDefault(v reflect.Value, f field) string {
	switch {
	case f.need:
		return "*needed*"
	case v.Type() == secretType && !v.IsZero():
		return "`" + v.Interface().(Secret).Reveal() + "`" // a default is no secret
	case v.Type() == durationType && !v.IsZero():
		return "`" + shortDuration(time.Duration(v.Int())) + "`"
	case v.Kind() == reflect.Bool:
		return fmt.Sprintf("`%t`", v.Bool())
	case v.IsZero() || v.Kind() == reflect.Struct || v.Kind() == reflect.Slice:
		return ""
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

func shortDuration(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if !strings.HasSuffix(d.String(), "m0s") {
		return d.String()
	}
	if strings.HasSuffix(text, "h0m") {
		return strings.TrimSuffix(text, "0m")
	}
	return text
}

// words lists what a setting may say, where that is a choice.
func words(f field) string {
	if len(f.enum) < 2 {
		return ""
	}
	return " (" + strings.Join(f.enum, ", ") + ")"
}
