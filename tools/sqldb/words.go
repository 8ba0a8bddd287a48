package sqldb

// Tables of words that decide what a statement may hold. Lower case throughout.

// readVerbs start what query_sql may run. The read-only transaction is what keeps
// it harmless; the list keeps out session settings, COPY and procedures.
var readVerbs = []string{"select", "with", "values", "table", "explain", "show"}

// writeVerbs start what execute_sql may run.
var writeVerbs = []string{
	"insert", "update", "delete", "replace", "merge", "with",
	"create", "alter", "drop", "truncate", "comment", "refresh", "analyze",
}

// definedKinds are what create, alter and drop may name: data, not code, roles or servers.
var definedKinds = []string{"table", "index", "view", "materialized", "schema", "sequence", "type"}

// definedModifiers stand between create, alter, drop and the kind.
var definedModifiers = []string{"temp", "temporary", "unique", "unlogged", "or", "replace", "global", "local", "recursive"}

// rights are what an ALTER may not change: who may do what, and which code runs.
var rights = [][]string{
	{"owner", "to"}, {"row", "level", "security"}, {"enable", "trigger"}, {"disable", "trigger"}, {"enable", "rule"}, {"disable", "rule"},
	{"enable", "always"}, {"enable", "replica"},
}

// outsideCalls reach out of the database: files, other servers, libraries, other sessions,
// the server itself; or they run a text as a statement, which nobody looked at.
// They are refused even where a person would have to approve them.
var outsideCalls = []string{
	"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer",
	"pg_file_write", "pg_file_rename", "pg_file_sync", "pg_file_unlink", "pg_logdir_ls", "pg_stat_file", "pg_current_logfile",
	"lo_import", "lo_export", "http", "http_get", "http_post", "http_put", "http_patch", "http_delete", "http_head",
	"pg_terminate_backend", "pg_cancel_backend", "pg_log_backend_memory_contexts", "pg_reload_conf", "pg_rotate_logfile", "set_config",
	"pg_promote", "pg_switch_wal", "pg_wal_replay_pause", "pg_wal_replay_resume", "pg_create_restore_point", "pg_import_system_collations",
	"pg_backup_start", "pg_backup_stop", "pg_start_backup", "pg_stop_backup", "pg_export_snapshot", "pg_logical_emit_message",
	"query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "ts_stat",
	"crosstab", "crosstab2", "crosstab3", "crosstab4", "connectby", "xpath_table",
}

// outsidePrefixes begin the names of whole families of such functions.
var outsidePrefixes = []string{
	"dblink", "pg_read_", "pg_ls_", "pg_stat_reset", "pg_replication_", "pg_create_logical_", "pg_create_physical_", "pg_copy_", "pg_drop_replication_",
	"pg_logical_slot_", "binary_upgrade_",
}

// systemSchemas hold the tables of the server itself.
var systemSchemas = []string{"pg_catalog", "information_schema", "pg_toast"}

// bracketKeywords are keywords that a bracket may follow and that are no functions.
// Some of them can name one all the same; whether this database has such a function
// is looked up there.
var bracketKeywords = []string{
	"in", "values", "exists", "any", "all", "some", "and", "or", "not", "where", "select", "from", "on", "using", "is", "between",
	"as", "when", "then", "else", "case", "having", "union", "except", "intersect", "limit", "offset", "returning", "distinct", "cast",
	"row", "array", "group", "lateral", "with", "window", "check", "default", "into", "only", "asc", "desc", "end", "fetch", "table", "join",
	"by", "over", "filter", "within", "partition", "set", "recursive", "materialized", "escape", "similar", "references",
	"interval", "numeric", "decimal", "varchar", "char", "character", "varying", "bit", "time", "timestamp", "float", "precision",
	"grouping", "sets", "rollup", "cube", "conflict", "explain", "analyze",
}

// plainCalls only compute: nothing that a trial runs may call anything else.
var plainCalls = []string{
	"abs", "ceil", "ceiling", "floor", "round", "trunc", "mod", "power", "pow", "sqrt", "sign", "exp", "ln", "log",
	"greatest", "least", "max", "min", "coalesce", "nullif", "ifnull", "iif", "if",
	"lower", "upper", "trim", "btrim", "ltrim", "rtrim", "length", "char_length", "character_length", "octet_length",
	"substr", "substring", "replace", "position", "strpos", "instr", "left", "right", "concat", "concat_ws",
	"initcap", "split_part", "reverse", "translate", "overlay", "hex", "quote", "unicode", "typeof", "md5", "ascii", "chr",
	"like", "ilike", "glob", "count", "sum", "avg", "total", "string_agg", "group_concat", "array_agg", "bool_and", "bool_or", "every",
	"row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value",
	"date_trunc", "date_part", "extract", "age", "to_char", "to_date", "to_number", "to_timestamp", "make_date", "make_interval",
	"json_extract", "json_set", "json_insert", "json_remove", "json_object", "json_array", "json_valid", "json_type",
	"jsonb_set", "jsonb_build_object", "jsonb_build_array", "json_build_object", "json_build_array", "->", "->>",
}

// clockCalls depend on when they run.
var clockCalls = []string{
	"now", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp",
	"transaction_timestamp", "statement_timestamp", "date", "time", "datetime", "strftime", "julianday", "unixepoch", "timediff",
}

// clockWords are clock values written without brackets; SQLite has the first three.
var clockWords = []string{"current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"}

// pgClockCalls are functions of Postgres without arguments that read the clock.
var pgClockCalls = []string{"now", "transaction_timestamp", "statement_timestamp", "clock_timestamp"}

// sqliteClockCalls are functions of SQLite that read the clock for 'now' or without an
// instant, and the place of the instant among their arguments.
var sqliteClockCalls = map[string]int{"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}

// momentTypes may a reading of the clock be cast to and still be nothing else.
var momentTypes = []string{"date", "time", "timetz", "timestamp", "timestamptz", "text", "bigint", "int8", "integer", "numeric"}

// defaultCalls may stand in a column's default, where the owner of the table put them:
// each time they make another value.
var defaultCalls = []string{"nextval", "gen_random_uuid", "uuid_generate_v4", "clock_timestamp", "random"}

// keyCalls make a value that nobody can know beforehand.
var keyCalls = []string{"nextval", "gen_random_uuid", "uuid_generate_v4", "random", "randomblob"}

// freshCalls are volatile functions of Postgres that change nothing, so that a query may call them.
var freshCalls = []string{"random", "clock_timestamp", "timeofday", "gen_random_uuid", "uuid_generate_v4", "statement_timestamp",
	"pg_relation_size", "pg_total_relation_size", "pg_table_size", "pg_indexes_size", "pg_database_size"}

// plainTypes may be cast to: casting to another type may run code.
var plainTypes = []string{
	"text", "varchar", "char", "bpchar", "character", "name", "int", "int2", "int4", "int8", "integer", "smallint", "bigint", "real",
	"float", "float4", "float8", "double", "numeric", "decimal", "boolean", "bool", "date", "time", "timetz", "timestamp", "timestamptz",
	"interval", "uuid", "json", "jsonb", "bytea", "blob", "inet", "regclass", "oid", "bit",
}
