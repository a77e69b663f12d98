package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ostraka/sqltypes"
)

// aggregateCase is one aggregate over literal rows, with PostgreSQL's outcome.
// Of an ordered-set aggregate the first columns are the direct arguments.
type aggregateCase struct {
	Name   string      `json:"name"`
	Types  []string    `json:"types"`
	Direct []string    `json:"direct,omitempty"`
	Rows   [][]*string `json:"rows"`
	Want   string      `json:"want"`
}

func (a aggregateCase) proc() *sqltypes.Proc {
	p, _ := oracleCall{name: a.Name, types: a.Types}.resolve()
	return p
}

func (a aggregateCase) sql() string {
	var cols, values []string
	rows := a.Types[len(a.Direct):]
	for i, t := range rows {
		cols = append(cols, fmt.Sprintf("c%d::pg_catalog.%s", i, quoted(t)))
	}
	for _, r := range a.Rows {
		var vs []string
		for _, v := range r {
			if v == nil {
				vs = append(vs, "NULL")
			} else {
				vs = append(vs, quoteLiteral(*v))
			}
		}
		values = append(values, "("+strings.Join(vs, ",")+")")
	}
	names := make([]string, len(rows))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	from := fmt.Sprintf("(SELECT %s WHERE false)", strings.TrimSuffix(strings.Repeat("NULL::text,", len(rows)), ","))
	if len(values) > 0 {
		from = "(VALUES (" + strings.TrimSuffix(strings.Repeat("NULL::text,", len(rows)), ",") + "), " + strings.Join(values, ",") + " OFFSET 1)"
	}
	from += " v(" + strings.Join(names, ",") + ")"
	if a.proc().AggRow.Kind == 'n' {
		return fmt.Sprintf("SELECT %s(%s) FROM %s", a.Name, strings.Join(cols, ","), from)
	}
	var direct []string
	for i, d := range a.Direct {
		direct = append(direct, quoteLiteral(d)+"::pg_catalog."+quoted(a.Types[i]))
	}
	return fmt.Sprintf("SELECT %s(%s) WITHIN GROUP (ORDER BY %s) FROM %s", a.Name, strings.Join(direct, ","), strings.Join(cols, ","), from)
}

func (a aggregateCase) run(env *sqltypes.Env) string {
	p := a.proc()
	ret := outcomeType(a.Want)
	if p.Agg.New == nil {
		return "!0A000 not implemented"
	}
	c := &Call{Env: env, Proc: p, RetType: sqltypes.ColumnType{OID: ret, TypMod: -1}, Collation: collationC}
	for _, t := range a.Types {
		c.ArgTypes = append(c.ArgTypes, sqltypes.ColumnType{OID: sqltypes.TypeByName(t).OID, TypMod: -1})
	}
	read := func(v *string, typ string) Datum {
		if v == nil {
			return null
		}
		d, err := sqltypes.TypeByName(typ).In(env, *v, -1)
		if err != nil {
			panic(err)
		}
		return d
	}
	var rows [][]Datum
	for _, r := range a.Rows {
		row := make([]Datum, len(r))
		for i, v := range r {
			row[i] = read(v, a.Types[len(a.Direct)+i])
		}
		rows = append(rows, row)
	}
	if p.Agg.OrderedSet {
		order := sqltypes.TypeByName(a.Types[len(a.Direct)]).Compare
		sort.SliceStable(rows, func(i, j int) bool { return compareKey(order, sqltypes.SortKey{}, rows[i][0], rows[j][0]) < 0 })
	}
	state := p.Agg.New(c)
next:
	for _, row := range rows {
		for _, d := range row {
			if d.Null && p.Agg.SkipNull {
				continue next
			}
		}
		if err := state.Step(c, row); err != nil {
			return outcomeError(err)
		}
	}
	var direct []Datum
	for i, d := range a.Direct {
		direct = append(direct, read(&d, a.Types[i]))
	}
	d, err := state.Final(c, direct)
	if err != nil {
		return outcomeError(err)
	}
	return fmt.Sprintf("%d%s", ret, outcome(env, ret, d))
}

const aggregateFile = "testdata/aggregates.jsonl"

func TestOracleAggregates(t *testing.T) {
	if *record != "" {
		recordAggregates(t)
	}
	env := oracleEnv(t)
	f, err := os.Open(aggregateFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	total, refused := 0, 0
	for lines.Scan() {
		var a aggregateCase
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		total++
		got := safely(func() string { return a.run(env) })
		if got == a.Want {
			continue
		}
		if strings.Contains(got, "0A000") && !strings.HasPrefix(a.Want, "!0A000") {
			refused++
			continue
		}
		t.Errorf("%.400s\n\tgot  %s\n\twant %s", lines.Text(), got, a.Want)
	}
	t.Logf("%d cases, %d refused", total, refused)
}

func recordAggregates(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *record)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET timezone = '"+oracleZone+"'"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, a := range sampleAggregates() {
		res := conn.PgConn().ExecParams(ctx, a.sql(), nil, nil, nil, nil).Read()
		a.Want = outcomeOf(res)
		if strings.HasPrefix(a.Want, "!42") {
			continue
		}
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := os.WriteFile(aggregateFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sampleAggregates makes cases of every implemented aggregate: no rows, one
// row, and some random sets with a NULL.
func sampleAggregates() []aggregateCase {
	var cases []aggregateCase
	for _, p := range sqltypes.AllProcs() {
		if p.Kind != 'a' || p.Agg.New == nil {
			continue
		}
		for _, b := range bindings {
			var types []string
			ok := true
			for _, oid := range p.ArgTypes {
				if oid == sqltypes.OIDAny {
					if p.AggRow.Kind == 'h' {
						types = append(types, "int4", "int4")
						continue
					}
					oid = sqltypes.OIDText
				}
				t := concrete(oid, b)
				types = append(types, t)
				ok = ok && samples[t] != nil
			}
			if !ok || len(types) == 0 {
				continue
			}
			cases = append(cases, randomRows(p, types)...)
			if !isPolymorphic(p) {
				break
			}
		}
	}
	return cases
}

func isPolymorphic(p *sqltypes.Proc) bool {
	for _, oid := range p.ArgTypes {
		if t := sqltypes.TypeByOID(oid); t != nil && t.TypType == 'p' {
			return true
		}
	}
	return false
}

func randomRows(p *sqltypes.Proc, types []string) []aggregateCase {
	h := fnv.New64()
	fmt.Fprint(h, p.OID, types)
	rng := rand.New(rand.NewSource(int64(h.Sum64())))
	var cases []aggregateCase
	for _, n := range []int{0, 1, 2, 3, 5, 8} {
		a := aggregateCase{Name: p.Name, Types: types}
		direct := 0
		switch p.AggRow.Kind {
		case 'o':
			direct = p.Agg.NumDirect
		case 'h':
			direct = 1
		}
		for _, t := range types[:direct] {
			v := samples[t][rng.Intn(len(samples[t]))]
			if t == "float8" {
				v = []string{"0", "0.25", "0.5", "0.9", "1", "1.5"}[rng.Intn(6)]
			} else if t == "_float8" {
				v = "{0,0.5,NULL,1}"
			}
			a.Direct = append(a.Direct, v)
		}
		for range n {
			row := make([]*string, len(types)-direct)
			for i, t := range types[direct:] {
				v := samples[t][rng.Intn(len(samples[t]))]
				if strings.HasPrefix(v, "1.79") || strings.HasPrefix(v, "92233") { // overflow hides the rest
					v = "7"
				}
				row[i] = &v
			}
			a.Rows = append(a.Rows, row)
		}
		if n == 5 {
			a.Rows[2][0] = nil
		}
		cases = append(cases, a)
	}
	return cases
}
