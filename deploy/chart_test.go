package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

const chartFolder = "helm/countersign"

// chart renders the chart as Helm does, with those of its functions that the
// templates use; what else a template names does not parse. TestChartByHelm compares
// the two.
func chart(t *testing.T, change map[string]any) ([]map[string]any, error) {
	t.Helper()
	var about struct {
		Name, Version string
		AppVersion    string `yaml:"appVersion"`
	}
	read(t, filepath.Join(chartFolder, "Chart.yaml"), &about)
	var values map[string]any
	read(t, filepath.Join(chartFolder, "values.yaml"), &values)
	merge(values, change)

	set := template.New("").Option("missingkey=error")
	set.Funcs(functions(set))
	files, err := filepath.Glob(filepath.Join(chartFolder, "templates", "*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("templates: %v, %v", files, err)
	}
	if _, err := set.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values":  values,
		"Chart":   map[string]any{"Name": about.Name, "Version": about.Version, "AppVersion": about.AppVersion},
		"Release": map[string]any{"Name": "test", "Service": "Helm", "Namespace": "ops"},
	}
	var out []map[string]any
	for _, file := range files {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		var text bytes.Buffer
		if err := set.ExecuteTemplate(&text, filepath.Base(file), data); err != nil {
			return nil, err
		}
		out = append(out, documents(t, text.Bytes())...)
	}
	return out, nil
}

// documents reads the YAML documents of a text, empty ones left out.
func documents(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(doc) > 0 {
			out = append(out, doc)
		}
	}
}

func functions(set *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := set.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(b), "\n"), err
		},
		"nindent": func(n int, s string) string {
			pad := strings.Repeat(" ", n)
			return "\n" + pad + strings.ReplaceAll(s, "\n", "\n"+pad)
		},
		"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(otherwise, v any) any {
			if truth, _ := template.IsTrue(v); truth {
				return v
			}
			return otherwise
		},
		"int": func(v any) (n int, err error) {
			_, err = fmt.Sscan(fmt.Sprint(v), &n)
			return n, err
		},
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"sha256sum":  func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
		"fail":       func(text string) (string, error) { return "", errors.New(text) },
	}
}

// merge lays the changes over the values, as Helm does.
func merge(values, change map[string]any) {
	for key, v := range change {
		below, isMap := v.(map[string]any)
		old, wasMap := values[key].(map[string]any)
		if isMap && wasMap {
			merge(old, below)
			continue
		}
		values[key] = v
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// at looks a value up by its path; a number is an index.
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

func kinds(docs []map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, d := range docs {
		out[fmt.Sprint(d["kind"])] = d
	}
	return out
}

func TestChart(t *testing.T) {
	t.Parallel()
	docs, err := chart(t, map[string]any{"config": map[string]any{"approvals": map[string]any{"approvers": []any{"manager"}}}})
	if err != nil {
		t.Fatal(err)
	}
	all := kinds(docs)
	want := []string{"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Fatal(diff)
	}
	pod := at(all["Deployment"], "spec", "template", "spec")
	container := at(pod, "containers", 0)
	for what, got := range map[string]any{
		"no root":                  at(pod, "securityContext", "runAsNonRoot"),
		"a read-only root":         at(container, "securityContext", "readOnlyRootFilesystem"),
		"two replicas":             fmt.Sprint(at(all["Deployment"], "spec", "replicas")) == "2",
		"no token of the API":      at(pod, "automountServiceAccountToken") == false,
		"no more rights":           at(container, "securityContext", "allowPrivilegeEscalation") == false,
		"capabilities dropped":     fmt.Sprint(at(container, "securityContext", "capabilities", "drop")) == "[ALL]",
		"secrets by name":          at(container, "envFrom", 0, "secretRef", "name") == "countersign",
		"readiness":                at(container, "readinessProbe", "httpGet", "path") == "/readyz",
		"liveness":                 at(container, "livenessProbe", "httpGet", "path") == "/healthz",
		"a budget":                 fmt.Sprint(at(all["PodDisruptionBudget"], "spec", "maxUnavailable")) == "1",
		"never fewer while rolled": fmt.Sprint(at(all["Deployment"], "spec", "strategy", "rollingUpdate", "maxUnavailable")) == "0",
		"no cloud metadata":        at(all["NetworkPolicy"], "spec", "egress", 1, "to", 0, "ipBlock", "except", 0) == "169.254.0.0/16",
		"the image":                at(container, "image") == "countersign:0.1.0",
	} {
		if got != true {
			t.Errorf("%s: got %v", what, got)
		}
	}
	text, _ := at(all["ConfigMap"], "data", "countersign.yaml").(string)
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil || at(config, "approvals", "approvers", 0) != "manager" {
		t.Errorf("the configuration is %q, %v", text, err)
	}
}

// What selects pods selects those of the deployment.
func TestChartSelectors(t *testing.T) {
	t.Parallel()
	docs, err := chart(t, map[string]any{"serviceMonitor": map[string]any{"enabled": true}})
	if err != nil {
		t.Fatal(err)
	}
	all := kinds(docs)
	labels := at(all["Deployment"], "spec", "template", "metadata", "labels")
	for what, got := range map[string]any{
		"deployment":     at(all["Deployment"], "spec", "selector", "matchLabels"),
		"service":        at(all["Service"], "spec", "selector"),
		"budget":         at(all["PodDisruptionBudget"], "spec", "selector", "matchLabels"),
		"network policy": at(all["NetworkPolicy"], "spec", "podSelector", "matchLabels"),
		"spread":         at(all["Deployment"], "spec", "template", "spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
		"monitor":        at(all["ServiceMonitor"], "spec", "selector", "matchLabels"),
	} {
		if diff := cmp.Diff(labels, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestChartWithAVolume(t *testing.T) {
	t.Parallel()
	volume := map[string]any{"persistence": map[string]any{"enabled": true, "storageClass": "fast"}}
	if _, err := chart(t, volume); err == nil || !strings.Contains(err.Error(), "one replica") {
		t.Errorf("two replicas on one file: %v", err)
	}
	volume["replicas"] = 1
	docs, err := chart(t, volume)
	if err != nil {
		t.Fatal(err)
	}
	all := kinds(docs)
	if all["PersistentVolumeClaim"] == nil || at(all["Deployment"], "spec", "strategy", "type") != "Recreate" {
		t.Error("a file belongs to one process at a time")
	}
}

// A changed configuration is a changed pod.
func TestChartConfigurationRolls(t *testing.T) {
	t.Parallel()
	sum := func(config map[string]any) any {
		docs, err := chart(t, map[string]any{"config": config})
		if err != nil {
			t.Fatal(err)
		}
		return at(kinds(docs)["Deployment"], "spec", "template", "metadata", "annotations", "checksum/config")
	}
	one, other := sum(map[string]any{"a": 1}), sum(map[string]any{"a": 2})
	if one == nil || one == other {
		t.Errorf("a changed configuration does not roll the pods: %v, %v", one, other)
	}
}

// checker gives a program of deploy/checkers.
func checker(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("COUNTERSIGN_CHECKERS")
	if folder == "" {
		t.Skip("COUNTERSIGN_CHECKERS names no folder with " + name + "; make checkers builds and runs it")
	}
	return filepath.Join(folder, name)
}

// rendered is the chart as Helm renders it.
func rendered(t *testing.T, set ...string) ([]byte, error) {
	t.Helper()
	args := []string{"template", "test", chartFolder, "--namespace", "ops", "--kube-version", "1.30.0"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	return exec.CommandContext(t.Context(), checker(t, "helm"), args...).Output()
}

// Helm itself finds nothing to say, renders what is rendered here, and refuses what the
// chart's schema does.
func TestChartByHelm(t *testing.T) {
	t.Parallel()
	run(t, checker(t, "helm"), "lint", "--strict", chartFolder)
	out, err := rendered(t)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := chart(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	helms := kinds(documents(t, out))
	for kind, doc := range kinds(ours) {
		if diff := cmp.Diff(plain(t, helms[kind]), plain(t, doc)); diff != "" {
			t.Errorf("%s (helm -, here +):\n%s", kind, diff)
		}
	}
	for _, wrong := range []string{"replicas=0", "existingSecret=", "replicas=2,persistence.enabled=true"} {
		if _, err := rendered(t, wrong); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// Kubernetes' own types know every field of what the chart makes, whatever is switched on.
func TestChartByKubernetes(t *testing.T) {
	t.Parallel()
	strict := checker(t, "kubernetes")
	for _, set := range []string{"replicas=2", "replicas=1,persistence.enabled=true,persistence.storageClass=fast", "priorityClassName=high,config.approvals.quorum=2,env.TZ=UTC,nodeSelector.disk=ssd"} {
		text, err := rendered(t, set)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), strict)
		c.Stdin = bytes.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "Deployment\n") || !strings.Contains(string(out), "NetworkPolicy\n") {
			t.Errorf("%s: %v\n%s", set, err, out)
		}
	}
}

// plain is a document without the differences between decoders, and without the sum
// over a text that each library writes in its own way.
func plain(t *testing.T, doc map[string]any) any {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if annotations, ok := at(out, "spec", "template", "metadata", "annotations").(map[string]any); ok {
		delete(annotations, "checksum/config")
	}
	return out
}
