package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/bot/words"
)

func load(t *testing.T) *words.Catalogue {
	t.Helper()
	c, err := words.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sentences reads every language file as it is.
func sentences(t *testing.T) map[string]map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.yaml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("languages: %v %v", paths, err)
	}
	out := map[string]map[string]string{}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		says := map[string]string{}
		if err := yaml.UnmarshalWithOptions(source, &says, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[strings.TrimSuffix(path, ".yaml")] = says
	}
	return out
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func TestLanguagesHaveTheSameKeysAndPlaceholders(t *testing.T) {
	t.Parallel()
	all := sentences(t)
	for lang, says := range all {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(all["en"])), slices.Sorted(maps.Keys(says))); diff != "" {
			t.Errorf("keys of en and %s (-en +%s):\n%s", lang, lang, diff)
		}
		for key, sentence := range says {
			if strings.TrimSpace(sentence) == "" && key != "gap" { // what stands between sentences
				t.Errorf("%s says nothing for %s", lang, key)
			}
			if diff := cmp.Diff(found(all["en"][key]), found(sentence)); diff != "" {
				t.Errorf("placeholders of %s in %s (-en +%s):\n%s", key, lang, lang, diff)
			}
		}
	}
}

func found(sentence string) []string {
	out := placeholder.FindAllString(sentence, -1)
	slices.Sort(out)
	return slices.Compact(out)
}

// Buttons and titles of forms are short: Slack takes 75 and 24, and phones show less.
func TestLabelsAreShort(t *testing.T) {
	t.Parallel()
	for lang, says := range sentences(t) {
		for key, sentence := range says {
			limit := 1000
			switch {
			case strings.HasPrefix(key, "button."):
				limit = 24
			case key == "modal.typed" || key == "modal.wait":
			case strings.HasPrefix(key, "modal."):
				limit = 24
			}
			if n := len([]rune(sentence)); n > limit {
				t.Errorf("%s: %s has %d characters, more than %d", lang, key, n, limit)
			}
		}
	}
}

func TestInFallsBackToEnglish(t *testing.T) {
	t.Parallel()
	c := load(t)
	for lang, want := range map[string]string{"zh": "zh", "zh-CN": "zh", "zh_TW": "zh", "ZH": "zh", "en-GB": "en", "fr": "en", "": "en"} {
		if got := c.In(lang).Code(); got != want {
			t.Errorf("In(%q) speaks %s, want %s", lang, got, want)
		}
	}
}

func TestGuess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"查张三的余额，不到 100 就发充值提醒": "zh", "统计 transactions.log 的成交总额和均值": "zh", "删除文档 doc_42": "zh", "删除 doc_42": "zh", "停": "zh",
		"check the balance of 张三 and remind him": "en", "refund order 7 for 李四 please": "en", "delete doc_42": "en", "": "en", "100": "en", "¿qué?": "en",
	} {
		if got := words.Guess(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestSayFillsPlaceholdersOnce(t *testing.T) {
	t.Parallel()
	l := load(t).In("en")
	if got := l.Say("changed.unknown.many", "n", "{n}"); !strings.Contains(got, "{n} changes") {
		t.Errorf("a value was filled in again: %q", got)
	}
	if got := l.Say("no.such.key"); got != "no.such.key" {
		t.Errorf("a missing key says %q", got)
	}
	if l.Has("no.such.key") || !l.Has("unknown") {
		t.Error("Has is wrong")
	}
}

// What our own tools say they changed is said in every language, with their values as they
// are; what others say stays as it is.
func TestEffect(t *testing.T) {
	t.Parallel()
	c := load(t)
	for said, want := range map[string]string{
		"updated 1 row in shop.orders":                      "更新了 shop.orders 中的 1 行",
		"deleted 3,000 rows in shop.orders":                 "删除了 shop.orders 中的 3,000 行",
		"inserted 2 rows in shop":                           "在 shop 中插入了 2 行",
		"ran create table in shop":                          "在 shop 中执行了 create table",
		"ran a command in a container, which is gone":       "在容器中执行了一条命令，容器已销毁",
		"deleted document doc_42 (A (b), {id}), restorable": "删除了文档 doc_42（A (b), {id}），可以恢复",
		"called {tool} of crm":                              "调用了 crm 的 {tool}",
		"paged the night shift":                             "paged the night shift",
		"refund: POST /orders/7/refund: 200 OK":             "refund: POST /orders/7/refund: 200 OK",
		"":                                                  "",
	} {
		if got := c.In("zh").Effect(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
		if got := c.In("en").Effect(said); got != said {
			t.Errorf("%q is %q in English", said, got)
		}
	}
}

// families are keys that the code puts together: a prefix and what can follow it.
func families() map[string][]string {
	runs, steps, cards := states(agent.RunMachine.States()), states(agent.StepMachine.States()), append(states(approvals.Machine.States()), "withdrawn")
	return map[string][]string{
		"progress.": runs, "progress.text.": runs, "state.": runs,
		"native.":     {"processing", "suspended"},
		"ended.":      {"success", "failed", "cancelled"},
		"step.":       steps,
		"card.text.":  cards,
		"card.title.": cards,
		"card.end.":   except(cards, "pending", "approved", "redeemed"),
		"outcome.":    {"executing", "succeeded", "failed", "uncertain", "refused", "cancelled"},
		"verdict.":    {"approve", "edit", "reject", "respond", "expire"},
		"settled.":    except(cards, "pending"),
		"settled.step.": {
			"succeeded", "failed", "executing", "uncertain",
		},
		"breach.": {
			"required", "unknown", "type", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
			"pattern", "format", "const", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "other",
		},
		"why.": {
			"loop", "max_steps", "denied", "denied_before", "edited_before", "lapsed", "not_allowed", "unknown_tool", "invalid_arguments",
			"too_many_open", "not_found", "ambiguous", "sql_error", "timeout", "unavailable",
		},
		"effect.": {
			"inserted.one", "inserted.many", "updated.one", "updated.many", "deleted.one", "deleted.many", "statement", "command", "document", "server",
		},
		"type.":  {"string", "number", "integer", "boolean", "array", "object", "null"},
		"error.": {"quota", "overflow", "bad_request", "config", "malformed", "unknown_asker"},
	}
}

func states[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}

func except(all []string, without ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(without, s) })
}

// use is how the code uses the catalogue.
type use struct {
	literals map[string]bool
	keys     map[string]string // literal first arguments of say, and where
	prefixes map[string]string // of keys that are put together
}

// counted says whether key names two sentences, one and many.
const counted = "count"

func scan(t *testing.T, roots ...string) use {
	t.Helper()
	u := use{map[string]bool{}, map[string]string{}, map[string]string{}}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				u.node(n, path)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func (u use) node(n ast.Node, path string) {
	if lit, ok := n.(*ast.BasicLit); ok {
		if s, ok := text(lit); ok {
			u.literals[s] = true
		}
	}
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	name := ""
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		name = sel.Sel.Name
	}
	if name != "say" && name != "Say" && name != counted {
		return
	}
	key := call.Args[0]
	if sum, ok := key.(*ast.BinaryExpr); ok {
		if s, ok := text(sum.X); ok {
			u.prefixes[s] = path
		}
	}
	if s, ok := text(key); ok {
		if name == counted {
			u.keys[s+".one"], u.keys[s+".many"] = path, path
		} else {
			u.keys[s] = path
		}
	}
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

func TestEveryKeyOfTheCodeExists(t *testing.T) {
	t.Parallel()
	en, fam := load(t).In("en"), families()
	u := scan(t, "..")
	if len(u.keys) < 100 {
		t.Fatalf("only %d keys found: the scan looks in the wrong place", len(u.keys))
	}
	for key, path := range u.keys {
		if !en.Has(key) {
			t.Errorf("%s says %q, which no language has", path, key)
		}
	}
	for prefix, path := range u.prefixes {
		if fam[prefix] == nil {
			t.Errorf("%s puts keys together from %q; name what can follow in families", path, prefix)
		}
	}
	for prefix, ends := range fam {
		for _, end := range ends {
			if !en.Has(prefix + end) {
				t.Errorf("no language has %s%s", prefix, end)
			}
		}
	}
}

func TestEveryKeyIsUsed(t *testing.T) {
	t.Parallel()
	u := scan(t, "..", "../../approvals", "../../agent")
	used := u.literals
	for key := range u.keys {
		used[key] = true
	}
	for prefix, ends := range families() {
		for _, end := range ends {
			used[prefix+end] = true
		}
	}
	for key := range sentences(t)["en"] {
		if !used[key] && key != "unfit" && key != "only_deciders" {
			t.Errorf("nothing says %s", key)
		}
	}
}

// Codes with which verdicts are refused are keys of the catalogue.
func TestEveryRefusalHasASentence(t *testing.T) {
	t.Parallel()
	en := load(t).In("en")
	codes := refusals(t, "../../approvals/decisions")
	codes = append(codes, "outsider", "guest", "bot", "deactivated", "not_approver", "requester", "not_member", "unknown_person")
	if len(codes) < 14 {
		t.Fatalf("only %d codes found: %v", len(codes), codes)
	}
	for _, code := range codes {
		if !en.Has(code) {
			t.Errorf("no sentence for the refusal %q", code)
		}
	}
}

// refusals finds the codes given to refuse, refuseFinding and returned by objections.
func refusals(t *testing.T, root string) []string {
	t.Helper()
	pattern := regexp.MustCompile(`(?:refuse(?:Finding)?\([^"\n]*|return )"([a-z_]+)", `)
	var out []string
	paths, err := filepath.Glob(root + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pattern.FindAllStringSubmatch(string(source), -1) {
			out = append(out, m[1])
		}
	}
	return out
}
