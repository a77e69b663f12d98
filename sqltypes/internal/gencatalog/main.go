// Command gencatalog writes the facts of PostgreSQL's catalogue that package sqltypes
// embeds (functions, operators, casts, aggregates, operator classes) as
// tab-separated files, one line a row, from the server that -dsn names.
//
//	go run ./sqltypes/internal/gencatalog -dsn postgres://… -out sqltypes/facts
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// signature is the key under which an implementation of an aggregate or of a
// SQL-language function registers: "sum(int4)".
const signature = `p.proname || '(' || coalesce((select string_agg(t.typname, ',' order by a.n)
	from unnest(p.proargtypes::oid[]) with ordinality a(o, n) join pg_type t on t.oid = a.o), '') || ')'`

// files maps a file to the query that gives its lines; every column is text
// without tabs or line ends. Only rows that initdb makes (OID < 16384) count.
var files = map[string]string{
	"procs.tsv": `select p.oid::text, p.proname::text, p.pronamespace::text, p.prolang::text,
		p.prokind::text || p.provolatile::text || p.proparallel::text || p.proisstrict::int || p.proretset::int || p.proleakproof::int || p.prosecdef::int,
		p.procost::text, p.prorows::text, p.provariadic::text, p.prorettype::text,
		array_to_string(p.proargtypes::oid[], ' '), coalesce(array_to_string(p.proallargtypes, ' '), ''),
		coalesce(array_to_string(p.proargmodes, ''), ''), coalesce(array_to_string(p.proargnames, ' '), ''),
		coalesce(pg_get_expr(p.proargdefaults, 0), ''),
		case when p.prolang = 14 then '' else p.prosrc end,
		case when p.prolang = 14 or p.prokind in ('a', 'w') then ` + signature + ` else '' end
		from pg_proc p where p.oid < 16384 order by p.oid`,
	"operators.tsv": `select oid::text, oprname::text, oprkind::text || oprcanhash::int || oprcanmerge::int,
		oprleft::text, oprright::text, oprresult::text, oprcode::oid::text, oprcom::text, oprnegate::text,
		case when oprrest = 0 then '' else oprrest::text end, case when oprjoin = 0 then '' else oprjoin::text end
		from pg_operator where oid < 16384 order by oid`,
	"casts.tsv": `select oid::text, castsource::text, casttarget::text, castfunc::text, castcontext::text || castmethod::text
		from pg_cast where oid < 16384 order by oid`,
	"aggregates.tsv": `select a.aggfnoid::oid::text, a.aggkind::text || a.aggfinalmodify::text || a.aggmfinalmodify::text ||
		a.aggfinalextra::int || a.aggmfinalextra::int || coalesce(t.proisstrict, false)::int || (a.agginitval is not null)::int || (a.aggminitval is not null)::int,
		a.aggnumdirectargs::text, array_to_string(array[a.aggtransfn::oid, a.aggfinalfn::oid, a.aggcombinefn::oid, a.aggserialfn::oid,
		a.aggdeserialfn::oid, a.aggmtransfn::oid, a.aggminvtransfn::oid, a.aggmfinalfn::oid], ' '),
		a.aggsortop::text, a.aggtranstype::text, a.aggtransspace::text, a.aggmtranstype::text, a.aggmtransspace::text,
		coalesce(a.agginitval, ''), coalesce(a.aggminitval, '')
		from pg_aggregate a left join pg_proc t on t.oid = a.aggtransfn where a.aggfnoid::oid < 16384 order by 1`,
	"opfamilies.tsv": `select oid::text, opfmethod::text, opfname::text from pg_opfamily where oid < 16384 order by oid`,
	"opclasses.tsv": `select oid::text, opcmethod::text, opcname::text, opcfamily::text, opcintype::text, opcdefault::int::text, opckeytype::text
		from pg_opclass where oid < 16384 order by oid`,
	"amops.tsv": `select oid::text, amopfamily::text, amoplefttype::text, amoprighttype::text, amopstrategy::text, amoppurpose::text,
		amopopr::text, amopmethod::text, amopsortfamily::text from pg_amop where oid < 16384 order by oid`,
	"amprocs.tsv": `select oid::text, amprocfamily::text, amproclefttype::text, amprocrighttype::text, amprocnum::text, amproc::oid::text
		from pg_amproc where oid < 16384 order by oid`,
}

func main() {
	dsn := flag.String("dsn", "", "connection string of the PostgreSQL 15 to read")
	out := flag.String("out", "facts", "folder to write to")
	flag.Parse()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	for name, query := range files {
		text, err := read(ctx, conn.PgConn(), query)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		if err := os.WriteFile(filepath.Join(*out, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// read runs a query and joins its columns with tabs, its rows with line ends.
func read(ctx context.Context, conn *pgconn.PgConn, query string) (string, error) {
	var b strings.Builder
	rows := conn.ExecParams(ctx, query, nil, nil, nil, nil)
	escape := strings.NewReplacer("\t", `\t`, "\n", `\n`)
	for rows.NextRow() {
		for i, v := range rows.Values() {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(escape.Replace(string(v)))
		}
		b.WriteByte('\n')
	}
	_, err := rows.Close()
	return b.String(), err
}
