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

// outsideCalls reach out of the database: files, other servers, libraries, other sessions.
// They are refused even where a person would have to approve them.
var outsideCalls = []string{
	"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer",
	"pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "pg_file_write", "pg_file_unlink",
	"lo_import", "lo_export", "dblink", "dblink_exec", "dblink_connect", "dblink_connect_u", "dblink_send_query",
	"pg_terminate_backend", "pg_cancel_backend", "pg_reload_conf", "pg_rotate_logfile",
	"query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "set_config",
}

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

// clockCalls depend on when they run. A value made by one is left out of the
// comparison of what was shown with what happened.
var clockCalls = []string{
	"now", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp",
	"transaction_timestamp", "statement_timestamp", "date", "time", "datetime", "strftime", "julianday", "unixepoch", "timediff",
}

// clockWords are clock values written without brackets.
var clockWords = []string{"current_timestamp", "current_date", "current_time", "localtime", "localtimestamp"}

// defaultCalls may stand in a column's default, where the owner of the table put them.
var defaultCalls = []string{"nextval", "gen_random_uuid", "uuid_generate_v4", "clock_timestamp", "random"}

// freshCalls are volatile functions of Postgres that change nothing, so that a query may call them.
var freshCalls = []string{"random", "clock_timestamp", "timeofday", "gen_random_uuid", "uuid_generate_v4", "statement_timestamp",
	"pg_relation_size", "pg_total_relation_size", "pg_table_size", "pg_indexes_size", "pg_database_size"}

// plainTypes may be cast to: casting to another type may run code.
var plainTypes = []string{
	"text", "varchar", "char", "bpchar", "character", "name", "int", "int2", "int4", "int8", "integer", "smallint", "bigint", "real",
	"float", "float4", "float8", "double", "numeric", "decimal", "boolean", "bool", "date", "time", "timetz", "timestamp", "timestamptz",
	"interval", "uuid", "json", "jsonb", "bytea", "blob", "inet", "regclass", "oid", "bit",
}
