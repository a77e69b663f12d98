-- pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_get_userbyid(c.relowner) AS tableowner, NULL::name AS tablespace,
       c.relhasindex AS hasindexes, false AS hasrules, c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')

-- pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_get_userbyid(c.relowner) AS viewowner, pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'

-- pg_catalog.pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_get_userbyid(c.relowner) AS matviewowner, NULL::name AS tablespace,
       c.relhasindex AS hasindexes, c.relispopulated AS ispopulated, pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm'

-- pg_catalog.pg_indexes
SELECT n.nspname AS schemaname, t.relname AS tablename, i.relname AS indexname, NULL::name AS tablespace, pg_get_indexdef(i.oid) AS indexdef
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
WHERE t.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')

-- pg_catalog.pg_sequences
SELECT n.nspname AS schemaname, c.relname AS sequencename, pg_get_userbyid(c.relowner) AS sequenceowner, s.seqtypid::regtype AS data_type,
       s.seqstart AS start_value, s.seqmin AS min_value, s.seqmax AS max_value, s.seqincrement AS increment_by, s.seqcycle AS cycle,
       s.seqcache AS cache_size, pg_sequence_last_value(c.oid) AS last_value
FROM pg_catalog.pg_sequence s
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S'

-- pg_catalog.pg_user
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
       rolbypassrls AS usebypassrls, '********'::text AS passwd, rolvaliduntil AS valuntil, rolconfig AS useconfig
FROM pg_catalog.pg_roles WHERE rolcanlogin

-- pg_catalog.pg_shadow
SELECT a.rolname AS usename, a.oid AS usesysid, a.rolcreatedb AS usecreatedb, a.rolsuper AS usesuper, a.rolreplication AS userepl,
       a.rolbypassrls AS usebypassrls, a.rolpassword AS passwd, a.rolvaliduntil AS valuntil, r.rolconfig AS useconfig
FROM pg_catalog.pg_authid a JOIN pg_catalog.pg_roles r ON r.oid = a.oid WHERE a.rolcanlogin

-- pg_catalog.pg_group
SELECT a.rolname AS groname, a.oid AS grosysid, ARRAY(SELECT m.member FROM pg_catalog.pg_auth_members m WHERE m.roleid = a.oid) AS grolist
FROM pg_catalog.pg_authid a WHERE NOT a.rolcanlogin

-- pg_catalog.pg_rules
SELECT n.nspname AS schemaname, c.relname AS tablename, r.rulename AS rulename, NULL::text AS definition
FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN'

-- pg_catalog.pg_publication_tables
SELECT p.pubname, n.nspname AS schemaname, c.relname AS tablename,
       (SELECT array_agg(a.attname ORDER BY a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = gpt.relid AND a.attnum > 0 AND NOT a.attisdropped
        AND (gpt.attrs IS NULL OR a.attnum = ANY (gpt.attrs))) AS attnames,
       pg_get_expr(gpt.qual, gpt.relid) AS rowfilter
FROM pg_catalog.pg_publication p, LATERAL pg_get_publication_tables(p.pubname::text) gpt(relid, attrs, qual), pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = gpt.relid

-- pg_catalog.pg_policies
SELECT n.nspname AS schemaname, c.relname AS tablename, pol.polname AS policyname,
       CASE WHEN pol.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END AS permissive,
       CASE WHEN pol.polroles = '{0}'::oid[] THEN ARRAY['public'::name]
            ELSE ARRAY(SELECT a.rolname FROM pg_catalog.pg_authid a WHERE a.oid = ANY (pol.polroles) ORDER BY a.rolname) END AS roles,
       CASE pol.polcmd WHEN 'r'::"char" THEN 'SELECT' WHEN 'a'::"char" THEN 'INSERT' WHEN 'w'::"char" THEN 'UPDATE' WHEN 'd'::"char" THEN 'DELETE'
            WHEN '*'::"char" THEN 'ALL' END AS cmd,
       pg_get_expr(pol.polqual, pol.polrelid) AS qual, pg_get_expr(pol.polwithcheck, pol.polrelid) AS with_check
FROM pg_catalog.pg_policy pol JOIN pg_catalog.pg_class c ON c.oid = pol.polrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace

-- information_schema.information_schema_catalog_name
SELECT current_database()::name AS catalog_name

-- information_schema.schemata
SELECT current_database()::name AS catalog_name, n.nspname AS schema_name, pg_get_userbyid(n.nspowner) AS schema_owner,
       NULL::name AS default_character_set_catalog, NULL::name AS default_character_set_schema, NULL::name AS default_character_set_name,
       NULL::varchar AS sql_path
FROM pg_catalog.pg_namespace n
WHERE pg_has_role(n.nspowner, 'USAGE') OR has_schema_privilege(n.oid, 'CREATE, USAGE')

-- information_schema.tables
SELECT current_database()::name AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       CASE WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE'
            WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN' END::varchar AS table_type,
       NULL::name AS self_referencing_column_name, NULL::varchar AS reference_generation, NULL::name AS user_defined_type_catalog,
       NULL::name AS user_defined_type_schema, NULL::name AS user_defined_type_name,
       CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END::varchar AS is_insertable_into,
       'NO'::varchar AS is_typed, NULL::varchar AS commit_action
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- information_schema.views
SELECT current_database()::name AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN pg_get_viewdef(c.oid) END::varchar AS view_definition,
       CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED' WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL'
            ELSE 'NONE' END::varchar AS check_option,
       CASE WHEN pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END::varchar AS is_updatable,
       CASE WHEN pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END::varchar AS is_insertable_into,
       'NO'::varchar AS is_trigger_updatable, 'NO'::varchar AS is_trigger_deletable, 'NO'::varchar AS is_trigger_insertable_into
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v' AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- information_schema.columns
SELECT current_database()::name AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
       a.attnum::int4 AS ordinal_position,
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END::varchar AS column_default,
       CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END::varchar AS is_nullable,
       CASE WHEN bt.typelem <> 0 AND bt.typlen = -1 THEN 'ARRAY' WHEN bt.typnamespace = 11 THEN format_type(bt.oid, NULL)
            ELSE 'USER-DEFINED' END::varchar AS data_type,
       CASE WHEN bt.oid IN (1042, 1043) AND {typmod} <> -1 THEN {typmod} - 4 WHEN bt.oid IN (1560, 1562) AND {typmod} <> -1 THEN {typmod} END::int4 AS character_maximum_length,
       CASE WHEN bt.oid IN (25, 1042, 1043) THEN CASE WHEN {typmod} = -1 OR bt.oid = 25 THEN 1073741824 ELSE ({typmod} - 4) * 4 END END::int4 AS character_octet_length,
       CASE bt.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN {typmod} = -1 THEN NULL ELSE (({typmod} - 4) >> 16) & 65535 END END::int4 AS numeric_precision,
       CASE WHEN bt.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN bt.oid = 1700 THEN 10 END::int4 AS numeric_precision_radix,
       CASE WHEN bt.oid IN (20, 21, 23) THEN 0 WHEN bt.oid = 1700 AND {typmod} <> -1 THEN ({typmod} - 4) & 2047 END::int4 AS numeric_scale,
       CASE WHEN bt.oid = 1082 THEN 0 WHEN bt.oid IN (1083, 1114, 1184, 1266) THEN CASE WHEN {typmod} < 0 THEN 6 ELSE {typmod} END
            WHEN bt.oid = 1186 THEN CASE WHEN {typmod} < 0 OR {typmod} & 65535 = 65535 THEN 6 ELSE {typmod} & 65535 END END::int4 AS datetime_precision,
       NULL::varchar AS interval_type, NULL::int4 AS interval_precision,
       NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
       CASE WHEN co.collname IS NOT NULL THEN current_database() END::name AS collation_catalog, nco.nspname AS collation_schema, co.collname AS collation_name,
       CASE WHEN t.typtype = 'd' THEN current_database() END::name AS domain_catalog, CASE WHEN t.typtype = 'd' THEN nt.nspname END AS domain_schema,
       CASE WHEN t.typtype = 'd' THEN t.typname END AS domain_name,
       current_database()::name AS udt_catalog, nbt.nspname AS udt_schema, bt.typname AS udt_name,
       NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name, NULL::int4 AS maximum_cardinality,
       a.attnum::text::name AS dtd_identifier, 'NO'::varchar AS is_self_referencing,
       CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END::varchar AS is_identity,
       CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END::varchar AS identity_generation,
       s.seqstart::varchar AS identity_start, s.seqincrement::varchar AS identity_increment, s.seqmax::varchar AS identity_maximum,
       s.seqmin::varchar AS identity_minimum, CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END::varchar AS identity_cycle,
       CASE WHEN a.attgenerated <> '' THEN 'ALWAYS' ELSE 'NEVER' END::varchar AS is_generated,
       CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END::varchar AS generation_expression,
       CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid, a.attnum, false) THEN 'YES' ELSE 'NO' END::varchar AS is_updatable
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_type bt ON bt.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
JOIN pg_catalog.pg_namespace nbt ON nbt.oid = bt.typnamespace
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation AND co.collname <> 'default'
LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace
LEFT JOIN pg_catalog.pg_depend dep ON dep.refclassid = 1259 AND dep.refobjid = c.oid AND dep.refobjsubid = a.attnum AND dep.deptype = 'i' AND dep.classid = 1259
LEFT JOIN pg_catalog.pg_sequence s ON s.seqrelid = dep.objid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE') OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- information_schema.table_constraints
SELECT current_database()::name AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       current_database()::name AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
       CASE c.contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END::varchar AS constraint_type,
       CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END::varchar AS is_deferrable,
       CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END::varchar AS initially_deferred, 'YES'::varchar AS enforced,
       CASE WHEN c.contype = 'u' THEN CASE WHEN x.indnullsnotdistinct THEN 'NO' ELSE 'YES' END END::varchar AS nulls_distinct
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.conindid
WHERE c.contype NOT IN ('t', 'x') AND r.relkind IN ('r', 'p') AND NOT pg_is_other_temp_schema(nr.oid)
  AND (pg_has_role(r.relowner, 'USAGE') OR has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(r.oid, 'INSERT, UPDATE, REFERENCES'))
UNION ALL
SELECT current_database()::name, nr.nspname, (nr.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name,
       current_database()::name, nr.nspname, r.relname, 'CHECK'::varchar, 'NO'::varchar, 'NO'::varchar, 'YES'::varchar, NULL::varchar
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND r.relkind IN ('r', 'p') AND NOT pg_is_other_temp_schema(nr.oid)
  AND (pg_has_role(r.relowner, 'USAGE') OR has_table_privilege(r.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(r.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- information_schema.key_column_usage
SELECT current_database()::name AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       current_database()::name AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name, a.attname AS column_name,
       k.ord::int4 AS ordinal_position,
       CASE WHEN c.contype = 'f' THEN array_position(x.indkey::int2[], c.confkey[k.ord::int4]) + 1 END::int4 AS position_in_unique_constraint
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY k(attnum, ord)
JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum
LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.conindid
WHERE c.contype IN ('p', 'u', 'f') AND r.relkind IN ('r', 'p') AND NOT pg_is_other_temp_schema(nr.oid)
  AND (pg_has_role(r.relowner, 'USAGE') OR has_column_privilege(r.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- information_schema.constraint_column_usage
SELECT current_database()::name AS table_catalog, n.nspname AS table_schema, r.relname AS table_name, a.attname AS column_name,
       current_database()::name AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
JOIN pg_catalog.pg_class r ON r.oid = CASE WHEN c.contype = 'f' THEN c.confrelid ELSE c.conrelid END
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = ANY (CASE WHEN c.contype = 'f' THEN c.confkey ELSE c.conkey END)
WHERE c.contype IN ('p', 'u', 'f', 'c') AND r.relkind IN ('r', 'p') AND pg_has_role(r.relowner, 'USAGE')

-- information_schema.constraint_table_usage
SELECT current_database()::name AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
       current_database()::name AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
JOIN pg_catalog.pg_class r ON r.oid = CASE WHEN c.contype = 'f' THEN c.confrelid ELSE c.conrelid END
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
WHERE c.contype IN ('p', 'u', 'f') AND r.relkind IN ('r', 'p') AND pg_has_role(r.relowner, 'USAGE')

-- information_schema.referential_constraints
SELECT current_database()::name AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       current_database()::name AS unique_constraint_catalog, nu.nspname AS unique_constraint_schema, u.conname AS unique_constraint_name,
       CASE c.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END::varchar AS match_option,
       CASE c.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END::varchar AS update_rule,
       CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END::varchar AS delete_rule
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
LEFT JOIN pg_catalog.pg_constraint u ON u.conindid = c.conindid AND u.contype IN ('p', 'u') AND u.conrelid = c.confrelid
LEFT JOIN pg_catalog.pg_namespace nu ON nu.oid = u.connamespace
WHERE c.contype = 'f' AND (pg_has_role(r.relowner, 'USAGE') OR has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'))

-- information_schema.check_constraints
SELECT current_database()::name AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_get_expr(c.conbin, c.conrelid)::varchar AS check_clause
FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
LEFT JOIN pg_catalog.pg_class r ON r.oid = c.conrelid LEFT JOIN pg_catalog.pg_type t ON t.oid = c.contypid
WHERE c.contype = 'c' AND pg_has_role(coalesce(r.relowner, t.typowner), 'USAGE')
UNION ALL
SELECT current_database()::name, n.nspname, (n.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name,
       (a.attname || ' IS NOT NULL')::varchar
FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull AND r.relkind IN ('r', 'p') AND pg_has_role(r.relowner, 'USAGE')

-- information_schema.sequences
SELECT current_database()::name AS sequence_catalog, n.nspname AS sequence_schema, c.relname AS sequence_name,
       format_type(s.seqtypid, NULL)::varchar AS data_type,
       CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END::int4 AS numeric_precision, 2::int4 AS numeric_precision_radix, 0::int4 AS numeric_scale,
       s.seqstart::varchar AS start_value, s.seqmin::varchar AS minimum_value, s.seqmax::varchar AS maximum_value, s.seqincrement::varchar AS increment,
       CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END::varchar AS cycle_option
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
WHERE c.relkind = 'S' AND NOT pg_is_other_temp_schema(n.oid)
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')
  AND (pg_has_role(c.relowner, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE'))

-- information_schema.enabled_roles
SELECT rolname AS role_name FROM pg_catalog.pg_roles WHERE pg_has_role(oid, 'USAGE')

-- information_schema.character_sets
SELECT NULL::name AS character_set_catalog, NULL::name AS character_set_schema, 'UTF8'::name AS character_set_name,
       'UCS'::name AS character_repertoire, 'UTF8'::name AS form_of_use, current_database()::name AS default_collate_catalog,
       NULL::name AS default_collate_schema, NULL::name AS default_collate_name

-- information_schema.collations
SELECT current_database()::name AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name, 'NO PAD'::varchar AS pad_attribute
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace WHERE c.collencoding IN (-1, 6)

-- information_schema.domains
SELECT current_database()::name AS domain_catalog, nt.nspname AS domain_schema, t.typname AS domain_name,
       CASE WHEN bt.typelem <> 0 AND bt.typlen = -1 THEN 'ARRAY' WHEN bt.typnamespace = 11 THEN format_type(bt.oid, NULL) ELSE 'USER-DEFINED' END::varchar AS data_type,
       CASE WHEN bt.oid IN (1042, 1043) AND t.typtypmod <> -1 THEN t.typtypmod - 4 END::int4 AS character_maximum_length,
       CASE WHEN bt.oid IN (25, 1042, 1043) THEN CASE WHEN t.typtypmod = -1 THEN 1073741824 ELSE (t.typtypmod - 4) * 4 END END::int4 AS character_octet_length,
       NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
       NULL::name AS collation_catalog, NULL::name AS collation_schema, NULL::name AS collation_name,
       CASE bt.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN t.typtypmod = -1 THEN NULL ELSE ((t.typtypmod - 4) >> 16) & 65535 END END::int4 AS numeric_precision,
       CASE WHEN bt.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN bt.oid = 1700 THEN 10 END::int4 AS numeric_precision_radix,
       CASE WHEN bt.oid IN (20, 21, 23) THEN 0 WHEN bt.oid = 1700 AND t.typtypmod <> -1 THEN (t.typtypmod - 4) & 2047 END::int4 AS numeric_scale,
       CASE WHEN bt.oid = 1082 THEN 0 WHEN bt.oid IN (1083, 1114, 1184, 1266) THEN CASE WHEN t.typtypmod < 0 THEN 6 ELSE t.typtypmod END END::int4 AS datetime_precision,
       NULL::varchar AS interval_type, NULL::int4 AS interval_precision, t.typdefault::varchar AS domain_default,
       current_database()::name AS udt_catalog, nbt.nspname AS udt_schema, bt.typname AS udt_name,
       NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name, NULL::int4 AS maximum_cardinality, '1'::name AS dtd_identifier
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_type bt ON bt.oid = t.typbasetype JOIN pg_catalog.pg_namespace nbt ON nbt.oid = bt.typnamespace
WHERE t.typtype = 'd'

-- information_schema.table_privileges
SELECT pg_get_userbyid(x.grantor) AS grantor, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name AS grantee,
       current_database()::name AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, x.privilege_type::varchar AS privilege_type,
       CASE WHEN pg_has_role(x.grantee, c.relowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar AS is_grantable,
       CASE WHEN x.privilege_type = 'SELECT' THEN 'YES' ELSE 'NO' END::varchar AS with_hierarchy
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) x
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND x.privilege_type IN ('INSERT', 'SELECT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER')
  AND (pg_has_role(x.grantor, 'USAGE') OR x.grantee = 0 OR pg_has_role(x.grantee, 'USAGE'))

-- information_schema.applicable_roles
SELECT a.rolname AS grantee, b.rolname AS role_name, CASE WHEN m.admin_option THEN 'YES' ELSE 'NO' END::varchar AS is_grantable
FROM (SELECT member, roleid, admin_option FROM pg_catalog.pg_auth_members
      UNION SELECT d.datdba, r.oid, false FROM pg_catalog.pg_database d, pg_catalog.pg_authid r
            WHERE r.rolname = 'pg_database_owner' AND d.datname = current_database()) m
JOIN pg_catalog.pg_authid a ON a.oid = m.member JOIN pg_catalog.pg_authid b ON b.oid = m.roleid
WHERE pg_has_role(a.oid, 'USAGE')

-- information_schema.administrable_role_authorizations
SELECT grantee AS grantee, role_name AS role_name, is_grantable AS is_grantable FROM information_schema.applicable_roles WHERE is_grantable = 'YES'

-- information_schema.attributes
SELECT current_database()::name AS udt_catalog, n.nspname AS udt_schema, c.relname AS udt_name, a.attname AS attribute_name,
       a.attnum::int4 AS ordinal_position, pg_get_expr(d.adbin, d.adrelid)::varchar AS attribute_default,
       CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END::varchar AS is_nullable, {datatype} AS data_type,
       CASE WHEN {basetype} IN (1042, 1043) AND {typmod} <> -1 THEN {typmod} - 4 WHEN {basetype} IN (1560, 1562) AND {typmod} <> -1 THEN {typmod} END::int4 AS character_maximum_length,
       CASE WHEN {basetype} IN (25, 1042, 1043) THEN CASE WHEN {typmod} = -1 OR {basetype} = 25 THEN 1073741824 ELSE ({typmod} - 4) * 4 END END::int4 AS character_octet_length,
       CASE WHEN co.collname IS NOT NULL THEN current_database() END::name AS collation_catalog, nco.nspname AS collation_schema, co.collname AS collation_name,
       CASE {basetype} WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN {typmod} = -1 THEN NULL ELSE (({typmod} - 4) >> 16) & 65535 END END::int4 AS numeric_precision,
       CASE WHEN {basetype} IN (20, 21, 23, 700, 701) THEN 2 WHEN {basetype} = 1700 THEN 10 END::int4 AS numeric_precision_radix,
       CASE WHEN {basetype} IN (20, 21, 23) THEN 0 WHEN {basetype} = 1700 AND {typmod} <> -1 THEN ({typmod} - 4) & 2047 END::int4 AS numeric_scale,
       CASE WHEN {basetype} = 1082 THEN 0 WHEN {basetype} IN (1083, 1114, 1184, 1266) THEN CASE WHEN {typmod} < 0 THEN 6 ELSE {typmod} END
            WHEN {basetype} = 1186 THEN CASE WHEN {typmod} < 0 OR {typmod} & 65535 = 65535 THEN 6 ELSE {typmod} & 65535 END END::int4 AS datetime_precision,
       current_database()::name AS attribute_udt_catalog, nt.nspname AS attribute_udt_schema, t.typname AS attribute_udt_name,
       a.attnum::text::name AS dtd_identifier, 'NO'::varchar AS is_derived_reference_attribute
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation AND co.collname <> 'default'
LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'c' AND (pg_has_role(c.relowner, 'USAGE') OR has_type_privilege(c.reltype, 'USAGE'))

-- information_schema.collation_character_set_applicability
SELECT current_database()::name AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name, 'UTF8'::name AS character_set_name
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace WHERE c.collencoding IN (-1, 6)

-- information_schema.column_domain_usage
SELECT current_database()::name AS domain_catalog, nt.nspname AS domain_schema, t.typname AS domain_name, current_database()::name AS table_catalog,
       n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_attribute a ON a.atttypid = t.oid
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE t.typtype = 'd' AND c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND pg_has_role(t.typowner, 'USAGE')

-- information_schema.column_udt_usage
SELECT current_database()::name AS udt_catalog, nbt.nspname AS udt_schema, bt.typname AS udt_name, current_database()::name AS table_catalog,
       n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type bt ON bt.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
JOIN pg_catalog.pg_namespace nbt ON nbt.oid = bt.typnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(bt.typowner, 'USAGE')

-- information_schema.column_privileges
SELECT pg_get_userbyid(x.grantor) AS grantor, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name AS grantee,
       current_database()::name AS table_catalog, n.nspname AS table_schema, x.relname AS table_name, x.attname AS column_name,
       x.privilege_type::varchar AS privilege_type,
       CASE WHEN x.grantee <> 0 AND pg_has_role(x.grantee, x.relowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar AS is_grantable
FROM (SELECT e.grantor, e.grantee, a.attname, c.relname, c.relnamespace, e.privilege_type, e.is_grantable, c.relowner
      FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) e
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
      WHERE c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped
      UNION
      SELECT e.grantor, e.grantee, a.attname, c.relname, c.relnamespace, e.privilege_type, e.is_grantable, c.relowner
      FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid CROSS JOIN LATERAL aclexplode(a.attacl) e
      WHERE a.attacl IS NOT NULL AND c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped) x
JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace
WHERE x.privilege_type IN ('INSERT', 'SELECT', 'UPDATE', 'REFERENCES')
  AND (x.grantee = 0 OR pg_has_role(x.grantor, 'USAGE') OR pg_has_role(x.grantee, 'USAGE'))

-- information_schema.role_column_grants
SELECT grantor AS grantor, grantee AS grantee, table_catalog AS table_catalog, table_schema AS table_schema, table_name AS table_name,
       column_name AS column_name, privilege_type AS privilege_type, is_grantable AS is_grantable
FROM information_schema.column_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)

-- information_schema.role_table_grants
SELECT grantor AS grantor, grantee AS grantee, table_catalog AS table_catalog, table_schema AS table_schema, table_name AS table_name,
       privilege_type AS privilege_type, is_grantable AS is_grantable, with_hierarchy AS with_hierarchy
FROM information_schema.table_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)

-- information_schema.routine_privileges
SELECT pg_get_userbyid(x.grantor) AS grantor, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name AS grantee,
       current_database()::name AS specific_catalog, n.nspname AS specific_schema, {specific} AS specific_name,
       current_database()::name AS routine_catalog, n.nspname AS routine_schema, p.proname AS routine_name, 'EXECUTE'::varchar AS privilege_type,
       CASE WHEN x.grantee <> 0 AND pg_has_role(x.grantee, p.proowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar AS is_grantable
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
WHERE x.privilege_type = 'EXECUTE' AND (x.grantee = 0 OR pg_has_role(x.grantor, 'USAGE') OR pg_has_role(x.grantee, 'USAGE'))

-- information_schema.role_routine_grants
SELECT grantor AS grantor, grantee AS grantee, specific_catalog AS specific_catalog, specific_schema AS specific_schema, specific_name AS specific_name,
       routine_catalog AS routine_catalog, routine_schema AS routine_schema, routine_name AS routine_name, privilege_type AS privilege_type, is_grantable AS is_grantable
FROM information_schema.routine_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)

-- information_schema.udt_privileges
SELECT pg_get_userbyid(x.grantor) AS grantor, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name AS grantee,
       current_database()::name AS udt_catalog, n.nspname AS udt_schema, t.typname AS udt_name, 'TYPE USAGE'::varchar AS privilege_type,
       CASE WHEN x.grantee <> 0 AND pg_has_role(x.grantee, t.typowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar AS is_grantable
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
CROSS JOIN LATERAL aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) x
WHERE t.typtype = 'c' AND x.privilege_type = 'USAGE' AND (x.grantee = 0 OR pg_has_role(x.grantor, 'USAGE') OR pg_has_role(x.grantee, 'USAGE'))

-- information_schema.role_udt_grants
SELECT grantor AS grantor, grantee AS grantee, udt_catalog AS udt_catalog, udt_schema AS udt_schema, udt_name AS udt_name,
       privilege_type AS privilege_type, is_grantable AS is_grantable
FROM information_schema.udt_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)

-- information_schema.usage_privileges
SELECT pg_get_userbyid(c.collowner) AS grantor, 'PUBLIC'::name AS grantee, current_database()::name AS object_catalog, n.nspname AS object_schema,
       c.collname AS object_name, 'COLLATION'::varchar AS object_type, 'USAGE'::varchar AS privilege_type, 'NO'::varchar AS is_grantable
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace WHERE c.collencoding IN (-1, 6)
UNION ALL
SELECT pg_get_userbyid(x.grantor), CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name, current_database()::name, n.nspname,
       t.typname, 'DOMAIN'::varchar, 'USAGE'::varchar,
       CASE WHEN x.grantee <> 0 AND pg_has_role(x.grantee, t.typowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
CROSS JOIN LATERAL aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) x
WHERE t.typtype = 'd' AND x.privilege_type = 'USAGE' AND (x.grantee = 0 OR pg_has_role(x.grantor, 'USAGE') OR pg_has_role(x.grantee, 'USAGE'))
UNION ALL
SELECT pg_get_userbyid(x.grantor), CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee) END::name, current_database()::name, n.nspname,
       c.relname, 'SEQUENCE'::varchar, 'USAGE'::varchar,
       CASE WHEN x.grantee <> 0 AND pg_has_role(x.grantee, c.relowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) x
WHERE c.relkind = 'S' AND x.privilege_type = 'USAGE' AND (x.grantee = 0 OR pg_has_role(x.grantor, 'USAGE') OR pg_has_role(x.grantee, 'USAGE'))

-- information_schema.role_usage_grants
SELECT grantor AS grantor, grantee AS grantee, object_catalog AS object_catalog, object_schema AS object_schema, object_name AS object_name,
       object_type AS object_type, privilege_type AS privilege_type, is_grantable AS is_grantable
FROM information_schema.usage_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)

-- information_schema.routines
SELECT current_database()::name AS specific_catalog, n.nspname AS specific_schema, {specific} AS specific_name,
       current_database()::name AS routine_catalog, n.nspname AS routine_schema, p.proname AS routine_name,
       CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END::varchar AS routine_type,
       CASE WHEN p.prokind <> 'p' THEN {datatype} END AS data_type,
       CASE WHEN nt.nspname IS NOT NULL THEN current_database() END::name AS type_udt_catalog, nt.nspname AS type_udt_schema, t.typname AS type_udt_name,
       CASE WHEN p.prokind <> 'p' THEN '0' END::name AS dtd_identifier,
       CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END::varchar AS routine_body,
       CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN p.prosrc END::varchar AS routine_definition,
       CASE WHEN l.lanname = 'c' THEN p.prosrc END::varchar AS external_name, upper(l.lanname::text)::varchar AS external_language,
       'GENERAL'::varchar AS parameter_style, CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END::varchar AS is_deterministic,
       'MODIFIES'::varchar AS sql_data_access,
       CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END::varchar AS is_null_call,
       'YES'::varchar AS schema_level_routine, 0::int4 AS max_dynamic_result_sets,
       CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END::varchar AS security_type, 'NO'::varchar AS as_locator, 'NO'::varchar AS is_udt_dependent
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
LEFT JOIN pg_catalog.pg_type t ON t.oid = p.prorettype AND p.prokind <> 'p'
LEFT JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE')

-- information_schema.parameters
SELECT current_database()::name AS specific_catalog, n.nspname AS specific_schema, {specific} AS specific_name, x.n::int4 AS ordinal_position,
       CASE coalesce(p.proargmodes[x.n], 'i') WHEN 'i' THEN 'IN' WHEN 'v' THEN 'IN' WHEN 'o' THEN 'OUT' WHEN 't' THEN 'OUT' WHEN 'b' THEN 'INOUT' END::varchar AS parameter_mode,
       'NO'::varchar AS is_result, 'NO'::varchar AS as_locator, nullif(p.proargnames[x.n], '')::name AS parameter_name, {datatype} AS data_type,
       current_database()::name AS udt_catalog, nt.nspname AS udt_schema, t.typname AS udt_name, x.n::text::name AS dtd_identifier,
       CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN pg_get_function_arg_default(p.oid, x.n::int4) END::varchar AS parameter_default
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
CROSS JOIN LATERAL unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY x(typ, n)
JOIN pg_catalog.pg_type t ON t.oid = x.typ
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE')

-- information_schema.domain_constraints
SELECT current_database()::name AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name, current_database()::name AS domain_catalog,
       nt.nspname AS domain_schema, t.typname AS domain_name, CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END::varchar AS is_deferrable,
       CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END::varchar AS initially_deferred
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
JOIN pg_catalog.pg_type t ON t.oid = c.contypid
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE t.typtype = 'd' AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'))

-- information_schema.domain_udt_usage
SELECT current_database()::name AS udt_catalog, nbt.nspname AS udt_schema, bt.typname AS udt_name, current_database()::name AS domain_catalog,
       nt.nspname AS domain_schema, t.typname AS domain_name
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_type bt ON bt.oid = t.typbasetype
JOIN pg_catalog.pg_namespace nbt ON nbt.oid = bt.typnamespace
WHERE t.typtype = 'd' AND pg_has_role(bt.typowner, 'USAGE')

-- information_schema.data_type_privileges
SELECT current_database()::name AS object_catalog, x.s AS object_schema, x.o AS object_name, x.t AS object_type, x.d AS dtd_identifier
FROM (SELECT udt_schema::name, udt_name::name, 'USER-DEFINED TYPE'::varchar, dtd_identifier::name FROM information_schema.attributes
      UNION ALL SELECT table_schema::name, table_name::name, 'TABLE'::varchar, dtd_identifier::name FROM information_schema.columns
      UNION ALL SELECT domain_schema::name, domain_name::name, 'DOMAIN'::varchar, dtd_identifier::name FROM information_schema.domains
      UNION ALL SELECT specific_schema::name, specific_name::name, 'ROUTINE'::varchar, dtd_identifier::name FROM information_schema.parameters
      UNION ALL SELECT specific_schema::name, specific_name::name, 'ROUTINE'::varchar, dtd_identifier::name FROM information_schema.routines) x(s, o, t, d)

-- information_schema.element_types
SELECT current_database()::name AS object_catalog, n.nspname AS object_schema, x.name AS object_name, x.kind::varchar AS object_type, x.id AS collection_type_identifier,
       CASE WHEN bt.typnamespace = 11 THEN format_type(bt.oid, NULL) ELSE 'USER-DEFINED' END::varchar AS data_type,
       CASE WHEN co.collname IS NOT NULL THEN current_database() END::name AS collation_catalog, nco.nspname AS collation_schema, co.collname AS collation_name,
       current_database()::name AS udt_catalog, nbt.nspname AS udt_schema, bt.typname AS udt_name, ('a' || x.id)::name AS dtd_identifier
FROM (SELECT c.relnamespace, c.relname, CASE WHEN c.relkind = 'c' THEN 'USER-DEFINED TYPE' ELSE 'TABLE' END, a.attnum::text::name, a.atttypid, a.attcollation,
             pg_has_role(c.relowner, 'USAGE') OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES')
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
      WHERE c.relkind IN ('r', 'v', 'f', 'c', 'p') AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
      SELECT t.typnamespace, t.typname, 'DOMAIN', '1'::name, t.typbasetype, t.typcollation, pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE')
      FROM pg_catalog.pg_type t WHERE t.typtype = 'd'
      UNION ALL
      SELECT p.pronamespace, {specific}, 'ROUTINE', a.n::text::name, a.typ, 0::oid, pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE')
      FROM pg_catalog.pg_proc p CROSS JOIN LATERAL unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY a(typ, n)
      UNION ALL
      SELECT p.pronamespace, {specific}, 'ROUTINE', '0'::name, p.prorettype, 0::oid, pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE')
      FROM pg_catalog.pg_proc p) x(schema, name, kind, id, typ, coll, allowed)
JOIN pg_catalog.pg_namespace n ON n.oid = x.schema
JOIN pg_catalog.pg_type t ON t.oid = x.typ
JOIN pg_catalog.pg_type bt ON bt.oid = t.typelem
JOIN pg_catalog.pg_namespace nbt ON nbt.oid = bt.typnamespace
LEFT JOIN pg_catalog.pg_collation co ON co.oid = x.coll AND co.collname <> 'default'
LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace
WHERE t.typelem <> 0 AND t.typlen = -1 AND x.allowed

-- information_schema.user_defined_types
SELECT current_database()::name AS user_defined_type_catalog, n.nspname AS user_defined_type_schema, c.relname AS user_defined_type_name,
       'STRUCTURED'::varchar AS user_defined_type_category, 'YES'::varchar AS is_instantiable
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.typrelid = c.oid
WHERE c.relkind = 'c' AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'))

-- information_schema.view_table_usage
SELECT DISTINCT current_database()::name AS view_catalog, nv.nspname AS view_schema, v.relname AS view_name, current_database()::name AS table_catalog,
       n.nspname AS table_schema, t.relname AS table_name
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
WHERE d.classid = 2618 AND d.refclassid = 1259 AND d.deptype = 'n' AND v.relkind = 'v' AND t.oid <> v.oid AND t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE')

-- information_schema.view_column_usage
SELECT DISTINCT current_database()::name AS view_catalog, nv.nspname AS view_schema, v.relname AS view_name, current_database()::name AS table_catalog,
       n.nspname AS table_schema, t.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE d.classid = 2618 AND d.refclassid = 1259 AND d.deptype = 'n' AND v.relkind = 'v' AND t.oid <> v.oid AND t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE')

-- pg_catalog.pg_timezone_names
SELECT name AS name, abbrev AS abbrev, utc_offset AS utc_offset, is_dst AS is_dst FROM pg_catalog.pg_timezone_names()

-- pg_catalog.pg_timezone_abbrevs
SELECT abbrev AS abbrev, utc_offset AS utc_offset, is_dst AS is_dst FROM pg_catalog.pg_timezone_abbrevs()

-- pg_catalog.pg_statio_all_sequences
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, 0::int8 AS blks_read, 0::int8 AS blks_hit
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S'

-- pg_catalog.pg_statio_user_sequences
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, 0::int8 AS blks_read, 0::int8 AS blks_hit
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S'

-- pg_catalog.pg_statio_sys_sequences
SELECT NULL::oid AS relid, NULL::name AS schemaname, NULL::name AS relname, 0::int8 AS blks_read, 0::int8 AS blks_hit WHERE false
