// Package explain lays plans out as EXPLAIN prints them: PostgreSQL's text, JSON,
// YAML and XML formats, with the executor's measurements when there are any; and
// turns bound expressions back into SQL text the way PostgreSQL's ruleutils do.
package explain
