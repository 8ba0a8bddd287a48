package archtest

// A pattern names packages: "agent" is that package alone, "agent/..." also all
// below it, and "gorm.io/..." those of another module. "*" is every package of ours.

// spine is the order of the layers, highest first. Calls go down: no layer
// imports one that stands before it. The door of the verdicts stands above the
// agent: it may wake a run, and the agent cannot name it.
var spine = []struct {
	layer string
	in    []string
}{
	{"bot", []string{"bot/..."}},
	{"decisions", []string{"approvals/decisions/..."}},
	{"agent", []string{"agent/..."}},
	{"approvals", []string{"approvals"}},
	{"policy", []string{"approvals/policy/..."}},
	{"tools", []string{"tools/..."}},
}

// owner says which packages may import something, in code that becomes part of the program.
type owner struct {
	of   string   // what is owned
	by   []string // the packages that may import it
	also bool     // whether the rule binds tests as well
	why  string
}

var owners = []owner{
	{
		of: "approvals/decisions/...", by: []string{"approvals/decisions/...", "bench/...", "bot/...", "cmd/...", "internal/api/...", "internal/app/...", "internal/schedule/...", "internal/store/...", "internal/apptest/...", "bench/..."},
		why: "the only door through which a verdict enters is out of reach of what the model's words reach; edges alone go through it: Slack, the command line, the HTTP interface, the clock",
	},
	{of: "gorm.io/...", by: []string{"internal/store/..."}, also: true, why: "rows are private to the store"},
	{of: "github.com/ncruces/go-sqlite3/gormlite/...", by: []string{"internal/store/..."}, also: true, why: "gorm's driver goes where gorm goes"},
	{of: "github.com/slack-go/slack/...", by: []string{"bot/..."}, why: "Slack's types end at the edge"},
	{of: "github.com/sashabaranov/go-openai/...", by: []string{"agent/llm/openai/..."}, why: "a model is what agent/llm says it is"},
	{of: "github.com/go-co-op/gocron/...", by: []string{"internal/schedule/..."}, why: "correctness never depends on the scheduler"},
	{of: "github.com/robfig/cron/...", by: []string{"internal/config/..."}, why: "cron lines are checked where settings are, and run by the scheduler"},
	{of: "github.com/riverqueue/...", by: []string{"internal/queue/..."}, why: "the queue is a doorbell behind a small port"},
	{of: "github.com/pressly/goose/...", by: []string{"internal/store/...", "internal/queue/...", "migrations/..."}, why: "the store migrates; the queue gives it River's own steps"},
	{of: "github.com/moby/moby/...", by: []string{"tools/sandbox/..."}, why: "containers are the sandbox's business"},
	{of: "github.com/modelcontextprotocol/go-sdk/...", by: []string{"tools/mcp/..."}, why: "MCP servers are one kind of tool"},
	{of: "cel.dev/cel-go/...", by: []string{"approvals/policy/..."}, why: "rules are policy"},
	{of: "github.com/alecthomas/kong/...", by: []string{"cmd/..."}, why: "command lines are parsed at the edge"},
	{of: "internal/app/...", by: []string{"cmd/...", "internal/app/...", "internal/demo/...", "internal/apptest/..."}, why: "wiring is the top; nothing builds on it"},
	{of: "internal/store/...", by: []string{"bench/...", "cmd/...", "internal/app/...", "internal/apptest/...", "internal/store/..."}, why: "the domain declares ports and does not know who keeps its rows"},
	{of: "internal/seal/...", by: []string{"approvals/decisions/...", "internal/app/...", "internal/seal/..."}, why: "second proofs are opened at the door of the verdicts"},
	{of: "internal/queue/...", by: []string{"bench/...", "cmd/...", "internal/app/...", "internal/store/...", "internal/queue/...", "bench/..."}, why: "the domain does not know who rings"},
	{of: "migrations/...", by: []string{"cmd/...", "internal/app/...", "internal/store/...", "migrations/..."}, why: "the schema belongs to the store"},
	{of: "localslack/...", by: []string{"internal/demo/...", "internal/apptest/...", "localslack/..."}, why: "the product knows Slack, not our stand-in for it"},
	{of: "github.com/chromedp/...", by: nil, why: "a browser is for tests"},
	{of: "agent/llm/playbook/...", by: []string{"internal/demo/...", "internal/apptest/...", "agent/llm/playbook/..."}, why: "the product knows models, not our stand-in for one"},
	{of: "internal/apptest/...", by: []string{"internal/apptest/..."}, why: "it is for tests"},
	{of: "internal/store/storetest/...", by: []string{"internal/store/storetest/...", "internal/apptest/..."}, why: "it is for tests"},
	{of: "localslack/slacktest/...", by: []string{"localslack/slacktest/...", "internal/apptest/..."}, why: "it is for tests"},
	{of: "testing/...", by: []string{"internal/store/storetest/...", "localslack/slacktest/...", "internal/apptest/..."}, why: "test helpers are never linked into the program"},
	{of: "log", by: nil, also: true, why: "log/slog is injected"},
	{of: "github.com/stretchr/testify/...", by: nil, also: true, why: "tests use testing and go-cmp"},
	{of: "github.com/pkg/errors/...", by: nil, also: true, why: "the standard library wraps errors"},
}

// closed says which packages may import nothing of ours but what is listed, tests included.
type closed struct {
	in   string
	only []string
	why  string
}

var closedTo = []closed{
	{"localslack/...", []string{"localslack/..."}, "it must stay believable as somebody else's server"},
	{"internal/seal/...", []string{"internal/seal/..."}, "a leaf"},
	{"internal/fault/...", []string{"internal/fault/..."}, "a leaf"},
	{"internal/fsm/...", []string{"internal/fsm/..."}, "a leaf"},
	{"internal/id/...", []string{"internal/id/..."}, "a leaf"},
	{"internal/config/...", []string{"internal/config/...", "internal/fault/..."}, "settings are plain data, handed down as parameters"},
	{"internal/archtest/...", []string{"internal/archtest/..."}, "it reads sources, it uses none"},
}

// hidden says what may not be reached, over any number of imports.
type hidden struct {
	from string
	what string
	why  string
}

var outOfReach = []hidden{
	{"agent/...", "approvals/decisions/...", "the model cannot approve itself"},
	{"tools/...", "approvals/decisions/...", "the model cannot approve itself"},
	{"agent/...", "internal/store/...", "the agent saves through its one port"},
	{"tools/...", "internal/store/...", "tools never see our own database"},
}

// pure says which packages do nothing but compute: they import nothing that
// reaches the world.
type pure struct {
	in  string
	why string
}

var purePackages = []pure{
	{"approvals", "a lifecycle is data and functions on it"},
	{"approvals/policy/...", "policy is a function of data"},
	{"bot/card/...", "a card is a view of state"},
}

// world is what pure code has no use for.
var world = []string{"os/...", "net", "net/http/...", "database/sql/...", "math/rand/...", "io/fs", "syscall"}

// vagueNames are package names that say nothing.
var vagueNames = []string{"util", "utils", "common", "types", "helper", "helpers", "misc", "shared", "base", "lib", "models", "interfaces"}

// The budget. Lines of a function are counted from func to its closing brace.
const (
	maxFunctionLines    = 80
	maxFunctionP90      = 40
	maxFunctionMedian   = 12
	maxFileLines        = 500
	maxFileP90          = 350
	maxParameters       = 5
	maxInterfaceMethods = 7
	minDocumented       = 0.95 // share of exported names with a comment
)

// valueMakers are the functions that may make a package's variable: they give a
// value that nobody changes afterwards. Functions called must… may too, and
// functions of the package itself that get nothing but literals.
var valueMakers = []string{"sync.OnceValue",
	"errors.New", "fmt.Errorf", "fault.New", "json.RawMessage",
	"regexp.MustCompile", "reflect.TypeFor", "reflect.TypeOf",
	"template.Must", "strings.NewReplacer", "big.NewInt", "language.MustParse", "language.NewMatcher",
	"ast.NewNodeKind", "time.Date", "time.FixedZone",
}
