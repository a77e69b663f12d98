package syscat

// registerEmpty declares relations of which Ostraka has no objects at all, so
// that they are rightly empty.
func registerEmpty(s *Set) {
	for _, name := range []string{
		"pg_event_trigger",                                                                                        // there are no event triggers
		"pg_foreign_data_wrapper", "pg_foreign_server", "pg_foreign_table", "pg_user_mapping", "pg_user_mappings", // no foreign data
		"pg_replication_origin", "pg_replication_origin_status", "pg_replication_slots", "pg_stat_replication_slots", // no logical replication
		"pg_stat_subscription", "pg_stat_subscription_stats",
		"pg_largeobject", "pg_largeobject_metadata", // no large objects
		"pg_statistic_ext_data", "pg_stats_ext", "pg_stats_ext_exprs", // no extended statistics
		"pg_transform", "pg_seclabel", "pg_seclabels", "pg_shseclabel", "pg_parameter_acl",
		"pg_available_extensions", "pg_available_extension_versions", // no extensions
		"pg_prepared_xacts",                                               // no two-phase commit by clients
		"pg_file_settings", "pg_hba_file_rules", "pg_ident_file_mappings", // no such files
		"pg_stat_progress_analyze", "pg_stat_progress_basebackup", "pg_stat_progress_cluster", "pg_stat_progress_copy",
		"pg_stat_progress_create_index", "pg_stat_progress_vacuum", "pg_stat_wal_receiver", "pg_stat_gssapi",
	} {
		if s.byName["pg_catalog."+name] != nil {
			s.static("pg_catalog."+name, nil, func(*Query, Emit) error { return nil })
		}
	}
	for _, name := range []string{
		"_pg_foreign_data_wrappers", "_pg_foreign_servers", "_pg_foreign_table_columns", "_pg_foreign_tables", "_pg_user_mappings",
		"triggered_update_columns", "column_options", "foreign_data_wrapper_options", "foreign_data_wrappers",
		"foreign_server_options", "foreign_servers", "foreign_table_options", "foreign_tables", "user_mapping_options", "user_mappings",
		"transforms", "check_constraint_routine_usage", "routine_column_usage", "routine_routine_usage", "routine_sequence_usage",
		"routine_table_usage", "view_routine_usage", "column_column_usage",
	} {
		if s.byName["information_schema."+name] != nil {
			s.static("information_schema."+name, nil, func(*Query, Emit) error { return nil })
		}
	}
}
