package sqltypes

// writingProcs are the functions, by key, that change replicated state: a
// statement that calls one runs on the leader.
var writingProcs = map[string]struct{}{
	"nextval_oid": {}, "setval_oid": {}, "setval3_oid": {},
	"be_lo_creat": {}, "be_lo_create": {}, "be_lo_import": {}, "be_lo_import_with_oid": {},
	"be_lo_unlink": {}, "be_lowrite": {}, "be_lo_truncate": {}, "be_lo_truncate64": {},
	"be_lo_put": {}, "be_lo_from_bytea": {}, "be_lo_open": {},
	"pg_notify":                             {},
	"pg_advisory_lock_int8":                 {},
	"pg_advisory_lock_int4":                 {},
	"pg_advisory_lock_shared_int8":          {},
	"pg_advisory_lock_shared_int4":          {},
	"pg_advisory_xact_lock_int8":            {},
	"pg_advisory_xact_lock_int4":            {},
	"pg_advisory_xact_lock_shared_int8":     {},
	"pg_advisory_xact_lock_shared_int4":     {},
	"pg_try_advisory_lock_int8":             {},
	"pg_try_advisory_lock_int4":             {},
	"pg_try_advisory_lock_shared_int8":      {},
	"pg_try_advisory_lock_shared_int4":      {},
	"pg_try_advisory_xact_lock_int8":        {},
	"pg_try_advisory_xact_lock_int4":        {},
	"pg_try_advisory_xact_lock_shared_int8": {},
	"pg_try_advisory_xact_lock_shared_int4": {},
	"pg_advisory_unlock_int8":               {},
	"pg_advisory_unlock_int4":               {},
	"pg_advisory_unlock_shared_int8":        {},
	"pg_advisory_unlock_shared_int4":        {},
	"pg_advisory_unlock_all":                {},
	"pg_current_xact_id":                    {},
	"pg_xact_status":                        {}, // only the leader knows
}

// nodeProcs are the functions, by key, whose result belongs to the node that
// the client is connected to.
var nodeProcs = map[string]struct{}{
	"pg_backend_pid": {}, "inet_server_addr": {}, "inet_server_port": {},
	"inet_client_addr": {}, "inet_client_port": {},
	"pg_postmaster_start_time": {}, "pg_conf_load_time": {}, "pg_is_in_recovery": {},
	"pg_cancel_backend": {}, "pg_terminate_backend": {}, "pg_reload_conf": {},
	"pg_stat_get_activity": {}, "pg_blocking_pids": {}, "pg_lock_status": {},
	"pg_listening_channels": {}, "pg_notification_queue_usage": {},
	"pg_prepared_statement": {}, "pg_cursor": {},
}
