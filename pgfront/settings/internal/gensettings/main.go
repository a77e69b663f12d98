// Command gensettings writes facts/pg_settings.txt from a running PostgreSQL 15:
//
//	go run ./pgfront/settings/internal/gensettings DSN > pgfront/settings/facts/pg_settings.txt
//
// One line per setting: name|type|unit|context|min|max|enum values|boot value|category|flags.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

const query = `SELECT concat_ws('|', name, vartype, coalesce(unit,''), context, coalesce(min_val,''),
	coalesce(max_val,''), coalesce(array_to_string(enumvals,','),''), coalesce(boot_val,''), category,
	array_to_string(pg_settings_get_flags(name),','))
	FROM pg_settings WHERE name NOT LIKE '%.%' ORDER BY lower(name)`

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Args[1])
	if err != nil {
		fail(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, query)
	if err != nil {
		fail(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		fail(err)
	}
	for _, l := range lines {
		fmt.Println(l)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "gensettings:", err)
	os.Exit(1)
}
