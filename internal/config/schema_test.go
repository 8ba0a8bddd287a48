package config_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/internal/config"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("countersign.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("countersign.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func instance(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaAgreesWithTheDecoder(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	accepted := []string{
		string(data),
		"{}",
		`http: {addr: ""}`,
		"limits: {input_ttl: 7d, tool_timeout: 1m30s}",
		"tools: {http: [{name: a, description: d, url: https://h, max_bytes: 1MiB, parameters: {type: object}}]}",
		"roles: {m: {users: [U1], usergroups: [S1], channels: [C1]}}",
	}
	for _, text := range accepted {
		if err := schema.Validate(instance(t, text)); err != nil {
			t.Errorf("the schema refuses what is right: %v\n%s", err, text)
		}
		if _, err := parse(t, text, nil); err != nil {
			t.Errorf("the decoder refuses what is right: %v\n%s", err, text)
		}
	}
	refused := []string{
		"limit: {}",
		"limits: {max_step: 1}",
		"limits: {max_steps: 0}",
		"limits: {max_steps: many}",
		"approvals: {ttl: 60}",
		"approvals: {ttl: soon}",
		"approvals: {quorum: 0}",
		"slack: {thread_replies: always}",
		"slack: {channels: C1}",
		"slack: {channels: [sales]}",
		"roles: {m: {users: [S1]}}",
		"tools: {files: {}}",
		"tools: {http: [{name: a}]}",
		"tools: {http: [{name: a, description: d, url: https://h, method: BREW}]}",
	}
	for _, text := range refused {
		if schema.Validate(instance(t, text)) == nil {
			t.Errorf("the schema accepts what is wrong: %s", text)
		}
		if _, err := parse(t, text, nil); err == nil {
			t.Errorf("the decoder accepts what is wrong: %s", text)
		}
	}
}

func TestSchemaHelpsEditors(t *testing.T) {
	t.Parallel()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"default": "1h0m0s"`, `"default": "gpt-5-mini"`, `"default": 50000`,
		`"description": "Distinct people who must approve."`, `"prometheus_url"`, `"enum": [`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the schema lacks %s", want)
		}
	}
	if strings.Contains(string(data), `"description": ""`) {
		t.Error("a setting has no description")
	}
	again, err := config.Schema()
	if err != nil || !bytes.Equal(data, again) {
		t.Error("the schema's text is not stable")
	}
}
