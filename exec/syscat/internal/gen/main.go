// Command gen writes facts/relations.tsv, the names, OIDs and columns of the
// relations of pg_catalog and information_schema, from a PostgreSQL 15 server.
//
//	go run ./exec/syscat/internal/gen -dsn DSN -out exec/syscat/facts
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

const relationsSQL = `SELECT n.nspname, c.relname, c.oid::int8, c.relkind::text, c.reltype::int8, a.attname,
  a.atttypid::int8, a.atttypmod::int8, a.attnotnull, a.attcollation::int8, a.attnum::int8, coalesce(c.relacl::text, ''), coalesce(a.attacl::text, '')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
  WHERE n.nspname IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind IN ('r', 'v', 't') AND c.oid < 16384
  ORDER BY n.nspname DESC, c.oid, a.attnum`

const indexesSQL = `SELECT c.oid::int8, c.relname, i.indrelid::int8, i.indisunique, i.indisprimary, i.indkey::text, coalesce(k.oid, 0)::int8
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
  JOIN pg_namespace n ON n.oid = t.relnamespace LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid WHERE n.nspname IN ('pg_catalog', 'pg_toast') AND t.relkind IN ('r', 't') ORDER BY 3, 1`

func main() {
	dsn := flag.String("dsn", "", "a PostgreSQL 15 server")
	out := flag.String("out", "facts", "folder to write to")
	flag.Parse()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := write(ctx, conn, filepath.Join(*out, "relations.tsv")); err != nil {
		log.Fatal(err)
	}
	if err := writeRows(ctx, conn, filepath.Join(*out, "rows.tsv")); err != nil {
		log.Fatal(err)
	}
	// What PostgreSQL says about its settings.
	f, err := os.Create(filepath.Join(*out, "settings.tsv"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if _, err := conn.PgConn().CopyTo(ctx, f, "COPY (SELECT name, category, short_desc, extra_desc, context, vartype, unit, min_val, max_val, boot_val, array_to_string(pg_settings_get_flags(name), ',') FROM pg_settings ORDER BY name) TO STDOUT"); err != nil {
		log.Fatal(err)
	}
}

// fixed are relations whose rows are the same in every new database.
var fixed = []string{"pg_type", "pg_am", "pg_collation", "pg_language", "pg_opclass", "pg_opfamily", "pg_amop", "pg_amproc",
	"pg_operator", "pg_cast", "pg_aggregate", "pg_range", "pg_conversion", "pg_tablespace",
	"pg_ts_config", "pg_ts_config_map", "pg_ts_dict", "pg_ts_parser", "pg_ts_template", "pg_description", "pg_extension",
	"pg_class", "pg_rewrite", "pg_depend", "pg_init_privs",
	"information_schema.sql_implementation_info", "information_schema.sql_parts", "information_schema.sql_sizing"}

// objid is the column that tells rows about the system's objects from those about users', where it is not the first.
var objid = map[string]string{"pg_depend": "objid", "pg_init_privs": "objoid"}

// writeRows dumps the fixed relations: a line "T name column…" and then the rows, in COPY's text form.
func writeRows(ctx context.Context, conn *pgx.Conn, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, rel := range fixed {
		schema, plain := "pg_catalog", strings.TrimPrefix(rel, "information_schema.")
		if plain != rel {
			schema, rel = "information_schema", plain
		}
		var names, list string
		err := conn.QueryRow(ctx, `SELECT string_agg(attname, E'\t' ORDER BY attnum), string_agg(CASE atttypid::regtype::text
			WHEN 'regproc' THEN attname || '::oid' WHEN 'pg_node_tree' THEN CASE attname WHEN 'typdefaultbin' THEN attname ELSE 'NULL' END ELSE attname::text END, ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`, schema+"."+rel).Scan(&names, &list)
		if err != nil {
			return err
		}
		fmt.Fprintf(f, "T\t%s\t%s\n", rel, names)
		first := strings.SplitN(list, ",", 2)[0]
		if objid[rel] != "" {
			first = objid[rel]
		}
		own := "WHERE " + first + "::oid < 16384"
		if schema != "pg_catalog" {
			own = ""
		}
		if _, err := conn.PgConn().CopyTo(ctx, f, fmt.Sprintf("COPY (SELECT %s FROM %s.%s %s ORDER BY 1, 2) TO STDOUT", list, schema, rel, own)); err != nil {
			return err
		}
	}
	return nil
}

func write(ctx context.Context, conn *pgx.Conn, path string) error {
	var b strings.Builder
	rows, err := conn.Query(ctx, relationsSQL)
	if err != nil {
		return err
	}
	last := int64(0)
	for rows.Next() {
		var schema, rel, kind, att, relACL, attACL string
		var oid, rowtype, typ, mod, coll, num int64
		var notNull bool
		if err := rows.Scan(&schema, &rel, &oid, &kind, &rowtype, &att, &typ, &mod, &notNull, &coll, &num, &relACL, &attACL); err != nil {
			return err
		}
		if oid != last {
			fmt.Fprintf(&b, "R\t%s\t%s\t%d\t%s\t%d\t%s\n", schema, rel, oid, kind, rowtype, relACL)
			last = oid
		}
		fmt.Fprintf(&b, "A\t%s\t%d\t%d\t%t\t%d\t%s\n", att, typ, mod, notNull, coll, attACL)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if rows, err = conn.Query(ctx, indexesSQL); err != nil {
		return err
	}
	for rows.Next() {
		var name, keys string
		var oid, rel, constraint int64
		var unique, primary bool
		if err := rows.Scan(&oid, &name, &rel, &unique, &primary, &keys, &constraint); err != nil {
			return err
		}
		fmt.Fprintf(&b, "I\t%d\t%s\t%d\t%t\t%t\t%s\t%d\n", oid, name, rel, unique, primary, keys, constraint)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
