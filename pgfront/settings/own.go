package settings

import "strings"

// ServerVersion and ServerVersionNum are what clients are told: PostgreSQL 15's
// number, since that is whose behaviour they get.
const (
	ServerVersion    = "15.18 (Ostraka)"
	ServerVersionNum = "150018"
)

// ownSettings adds what pg_settings does not list, Ostraka's parameters, and this server's defaults.
func ownSettings() {
	for _, d := range []*Definition{
		{Name: "is_superuser", Kind: Bool, Context: Internal, Boot: "off", NoShowAll: true, NoResetAll: true, Category: "Reporting and Logging / What to Log"},
		{Name: "session_authorization", Kind: String, Context: User, NoShowAll: true, NoResetAll: true, Category: "Client Connection Defaults / Statement Behavior"},
		{Name: "role", Kind: String, Context: User, Boot: "none", NoShowAll: true, NoResetAll: true, Plan: true, Category: "Client Connection Defaults / Statement Behavior"},
		{Name: "seed", Kind: Real, Context: User, Boot: "0", Min: -1, Max: 1, NoShowAll: true, NoResetAll: true, Category: "Client Connection Defaults / Statement Behavior"},
		{Name: "default_with_oids", Kind: Bool, Context: User, Boot: "off", NoShowAll: true, Category: "Version and Platform Compatibility / Previous PostgreSQL Versions"},
		{Name: "ostraka.read_consistency", Kind: Enum, Context: User, Boot: "local", Enum: []string{"local", "bounded", "leader", "linearizable"},
			Category: "Ostraka / Replication", Short: "Where reads outside of write transactions are answered."},
		{Name: "ostraka.max_staleness", Kind: Integer, Unit: "ms", Context: User, Boot: "5000", Min: 1, Max: 86400000,
			Category: "Ostraka / Replication", Short: "How old the state may be that a read of consistency bounded sees."},
		{Name: "ostraka.position", Kind: String, Context: Internal, NoResetAll: true,
			Category: "Ostraka / Replication", Short: "The position in the log that this session's reads and writes have reached."},
		{Name: "ostraka.min_position", Kind: String, Context: User,
			Category: "Ostraka / Replication", Short: "The position that a node must have applied before it executes this session's statements."},
		{Name: "ostraka.position_timeout", Kind: Integer, Unit: "ms", Context: User, Boot: "5000", Max: 3600000,
			Category: "Ostraka / Replication", Short: "How long a statement waits for ostraka.min_position."},
		{Name: "ostraka.transaction_id", Kind: String, Context: User,
			Category: "Ostraka / Replication", Short: "The client's name for the transaction: it commits at most once, and ostraka_transaction_status tells whether it has."},
		{Name: "ostraka.own_writes_timeout", Kind: Integer, Unit: "ms", Context: User, Boot: "250", Max: 60000,
			Category: "Ostraka / Replication", Short: "How long a session waits for the local replica to have its own writes before it reads on the leader."},
		{Name: "ostraka.request_timeout", Kind: Integer, Unit: "ms", Context: User, Boot: "30000", Max: 2147483647,
			Category: "Ostraka / Sharding", Short: "How long a shard may take to answer; 0 turns it off."},
		{Name: "ostraka.ts_scope", Kind: String, Context: User, Boot: "node",
			Category: "Ostraka / Time Series", Short: "Whose rows a query of time-series tables reads: those of the node it runs on, or of all nodes (cluster)."},
		{Name: "ostraka.max_rows_buffered", Kind: Integer, Context: Superuser, Boot: "10000000", Min: 1000, Max: 2147483647,
			Category: "Ostraka / Limits", Short: "Rows a cursor or suspended portal may keep."},
		{Name: "ostraka.max_portals", Kind: Integer, Context: Superuser, Boot: "1000", Min: 1, Max: 1000000,
			Category: "Ostraka / Limits", Short: "Open portals and cursors of a session."},
		{Name: "ostraka.max_prepared_statements", Kind: Integer, Context: Superuser, Boot: "10000", Min: 1, Max: 1000000,
			Category: "Ostraka / Limits", Short: "Prepared statements of a session."},
	} {
		define(d)
	}
	for name, boot := range map[string]string{
		"server_version": ServerVersion, "server_version_num": ServerVersionNum,
		"client_encoding": "UTF8", "server_encoding": "UTF8", "timezone": "UTC", "log_timezone": "UTC",
		"default_text_search_config": "pg_catalog.english", "lc_messages": "C", "lc_collate": "C", "lc_ctype": "C",
		"timezone_abbreviations": "Default", "max_stack_depth": "2048", "config_file": "", "data_directory": "", "hba_file": "", "ident_file": "",
		"ssl": "off", "jit": "off", "max_connections": "1000", "wal_level": "logical", "default_table_access_method": "heap",
		"password_encryption": "scram-sha-256",
	} {
		if d := table.byName[name]; d != nil {
			d.Boot = boot
		}
	}
	for _, name := range []string{"search_path", "row_security", "xmloption", "standard_conforming_strings", "plan_cache_mode",
		"extra_float_digits", "bytea_output", "lc_monetary", "default_text_search_config", "DateStyle", "IntervalStyle", "TimeZone"} {
		table.byName[strings.ToLower(name)].Plan = true
	}
	if d := table.byName["transaction_isolation"]; d != nil {
		d.Enum = []string{"serializable", "repeatable read", "read committed", "read uncommitted"}
	}
}
