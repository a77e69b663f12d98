package builtin

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// The differential test: calls of functions with literal arguments, whose
// outcome PostgreSQL 15 gave once (testdata/*.tsv) and this package must give
// again. To record anew:
//
//	go test ./sqltypes/builtin -run Oracle -record postgres://…
//
// testdata/calls.txt lists calls written by hand; the others are made from
// sample values of each type (samples_test.go) for every function that has an
// implementation.
var record = flag.String("record", "", "DSN of the PostgreSQL 15 that gives the expected outcomes")

// recordAgain asks PostgreSQL even for calls whose outcome is recorded.
var recordAgain = flag.Bool("record-again", false, "with -record: ask for every call, not only for new ones")

// oracleZone is the session time zone while recording and checking.
const oracleZone = "America/New_York"

// call is one function call; an argument is NULL when its value is nil.
type oracleCall struct {
	name  string
	types []string // pg_type.typname
	args  []*string
}

// String is the form in which calls stand in the files: name(type 'value', type NULL).
func (c oracleCall) String() string {
	var b strings.Builder
	b.WriteString(c.name + "(")
	for i, t := range c.types {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t + " ")
		if c.args[i] == nil {
			b.WriteString("NULL")
		} else {
			b.WriteString("'" + escapeLine(strings.ReplaceAll(*c.args[i], "'", "''")) + "'")
		}
	}
	return b.String() + ")"
}

var lineEscapes = strings.NewReplacer("\n", "␤", "\t", "␉")
var lineUnescapes = strings.NewReplacer("␤", "\n", "␉", "\t")

func escapeLine(s string) string { return lineEscapes.Replace(s) }

func parseCall(line string) (oracleCall, error) {
	open := strings.IndexByte(line, '(')
	if open < 0 {
		return oracleCall{}, fmt.Errorf("no call: %s", line)
	}
	c := oracleCall{name: line[:open]}
	rest := line[open+1:]
	for !strings.HasPrefix(rest, ")") {
		rest = strings.TrimPrefix(rest, ", ")
		typ, after, ok := strings.Cut(rest, " ")
		if !ok {
			return c, fmt.Errorf("no argument: %s", line)
		}
		c.types = append(c.types, typ)
		if strings.HasPrefix(after, "NULL") {
			c.args = append(c.args, nil)
			rest = after[4:]
			continue
		}
		var b strings.Builder
		i := 1
		for ; i < len(after); i++ {
			if after[i] == '\'' {
				if i+1 >= len(after) || after[i+1] != '\'' {
					break
				}
				i++
			}
			b.WriteByte(after[i])
		}
		if i >= len(after) {
			return c, fmt.Errorf("unterminated value: %s", line)
		}
		v := lineUnescapes.Replace(b.String())
		c.args = append(c.args, &v)
		rest = after[i+1:]
	}
	return c, nil
}

// sql is the query that makes PostgreSQL evaluate the call.
func (c oracleCall) sql() string {
	var b strings.Builder
	b.WriteString("SELECT ")
	b.WriteString(sqltypes.QuoteIdent(strings.TrimPrefix(c.name, "*")) + "(")
	for i, t := range c.types {
		if i > 0 {
			b.WriteString(", ")
		}
		variadic := strings.HasPrefix(t, "VARIADIC")
		if variadic {
			t = strings.TrimPrefix(t, "VARIADIC")
			b.WriteString("VARIADIC ")
		}
		value := "NULL"
		if c.args[i] != nil {
			value = quoteLiteral(*c.args[i])
		}
		b.WriteString(value + "::pg_catalog." + quoted(t))
	}
	return b.String() + ")"
}

func quoted(typ string) string { return `"` + typ + `"` }

func recordOutcome(ctx context.Context, conn *pgconn.PgConn, c oracleCall) string {
	res := conn.ExecParams(ctx, c.sql(), nil, nil, nil, nil).Read()
	if isSet(c) && res.Err == nil {
		var rows []string
		for _, r := range res.Rows {
			rows = append(rows, fieldOutcome(r[0]))
		}
		if len(rows) == 0 {
			return "0[]"
		}
		return fmt.Sprintf("%d[%s]", res.FieldDescriptions[0].DataTypeOID, strings.Join(rows, "␟"))
	}
	return outcomeOf(res)
}

// outcomeOf renders the first value of a result, or the error.
func outcomeOf(res *pgconn.Result) string {
	if res.Err != nil {
		var e *pgconn.PgError
		if errors.As(res.Err, &e) {
			return "!" + e.Code + " " + escapeLine(e.Message)
		}
		panic(res.Err)
	}
	return fmt.Sprintf("%d%s", res.FieldDescriptions[0].DataTypeOID, fieldOutcome(res.Rows[0][0]))
}

func fieldOutcome(v []byte) string {
	if v == nil {
		return "NULL"
	}
	return "=" + escapeLine(string(v))
}

func isSet(c oracleCall) bool {
	p, _ := c.resolve()
	return p != nil && p.RetSet
}

// resolve finds the function that the argument types select.
func (c oracleCall) resolve() (*sqltypes.Proc, []sqltypes.ColumnType) {
	types := make([]sqltypes.ColumnType, len(c.types))
	variadicArray := false
	for i, t := range c.types {
		variadicArray = variadicArray || strings.HasPrefix(t, "VARIADIC")
		typ := sqltypes.TypeByName(strings.TrimPrefix(t, "VARIADIC"))
		if typ == nil {
			return nil, nil
		}
		types[i] = sqltypes.ColumnType{OID: typ.OID, TypMod: -1, Collation: typ.Collation}
	}
	var best *sqltypes.Proc
	for _, p := range sqltypes.ProcsByName(c.name) {
		exact := len(p.ArgTypes) == len(types)
		fits := exact
		for i := range types {
			if i >= len(p.ArgTypes) || p.ArgTypes[i] != types[i].OID {
				exact = false
			}
			if i < len(p.ArgTypes) && p.ArgTypes[i] != types[i].OID && !polymorphic(p.ArgTypes[i], types[i].OID) {
				fits = false
			}
		}
		if p.Variadic == sqltypes.OIDAny && len(types) >= len(p.ArgTypes) {
			fits = true
			for i := 0; i < len(p.ArgTypes)-1; i++ {
				fits = fits && p.ArgTypes[i] == types[i].OID
			}
		}
		if exact {
			return p, types
		}
		if fits {
			best = p
		}
	}
	return best, types
}

func polymorphic(declared, actual sqltypes.OID) bool {
	t := sqltypes.TypeByOID(actual)
	switch declared {
	case sqltypes.OIDAnyelement, sqltypes.OIDAnycompatible, sqltypes.OIDAny:
		return true
	case sqltypes.OIDAnynonarray, sqltypes.OIDAnycompatiblenonarray:
		return !t.IsArray
	case sqltypes.OIDAnyarray, sqltypes.OIDAnycompatiblearray:
		return t.IsArray
	case sqltypes.OIDAnyrange, sqltypes.OIDAnycompatiblerange:
		return t.TypType == 'r'
	case sqltypes.OIDAnymultirange, sqltypes.OIDAnycompatiblemultirange:
		return t.TypType == 'm'
	}
	return false
}

// evaluate calls the function directly and renders its outcome as recordOutcome
// does; retType is the type PostgreSQL reported, 0 if it reported an error.
func evaluate(env *sqltypes.Env, c oracleCall, retType sqltypes.OID) string {
	p, types := c.resolve()
	if p == nil {
		return "no such function"
	}
	call := &sqltypes.Call{Env: env, Proc: p, ArgTypes: types, RetType: sqltypes.ColumnType{OID: retType, TypMod: -1}, Collation: collationC}
	args := make([]Datum, len(types))
	for i, s := range c.args {
		call.VariadicArray = call.VariadicArray || strings.HasPrefix(c.types[i], "VARIADIC")
		if s == nil {
			args[i] = null
			if p.Strict {
				return fmt.Sprintf("%dNULL", retType)
			}
			continue
		}
		d, err := sqltypes.TypeByOID(types[i].OID).In(env, *s, -1)
		if err != nil {
			return outcomeError(err)
		}
		args[i] = d
	}
	if p.RetSet {
		if p.Set == nil {
			return "not implemented"
		}
		return evaluateSet(env, p, call, args, retType)
	}
	if p.Fn == nil {
		return "not implemented"
	}
	d, err := p.Fn(call, args)
	if err != nil {
		return outcomeError(err)
	}
	return fmt.Sprintf("%d%s", retType, outcome(env, retType, d))
}

func outcome(env *sqltypes.Env, typ sqltypes.OID, d Datum) string {
	if d.Null {
		return "NULL"
	}
	t := sqltypes.TypeByOID(typ)
	if t == nil {
		return "=" + escapeLine(d.S)
	}
	return "=" + escapeLine(string(t.Out(env, nil, d)))
}

func evaluateSet(env *sqltypes.Env, p *sqltypes.Proc, call *sqltypes.Call, args []Datum, retType sqltypes.OID) string {
	src, err := p.Set(call, args)
	if err != nil {
		return outcomeError(err)
	}
	var rows []string
	for len(rows) < 100000 {
		row, ok, err := src.Next()
		if err != nil {
			return outcomeError(err)
		}
		if !ok {
			break
		}
		if len(row) == 1 {
			rows = append(rows, outcome(env, retType, row[0]))
			continue
		}
		rows = append(rows, "="+escapeLine(recordText(env, p, row)))
	}
	return fmt.Sprintf("%d[%s]", retType, strings.Join(rows, "␟"))
}

// recordText renders a row of OUT columns as a composite value.
func recordText(env *sqltypes.Env, p *sqltypes.Proc, row []Datum) string {
	var out []sqltypes.OID
	for i, m := range p.ArgModes {
		if m == 'o' || m == 't' || m == 'b' {
			out = append(out, p.AllArgTypes[i])
		}
	}
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range row {
		if i > 0 {
			b.WriteByte(',')
		}
		if d.Null || i >= len(out) {
			continue
		}
		s := string(sqltypes.TypeByOID(out[i]).Out(env, nil, d))
		if s == "" || strings.ContainsAny(s, "\"\\(), \t\n") {
			s = `"` + strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(s) + `"`
		}
		b.WriteString(s)
	}
	return b.String() + ")"
}

func outcomeError(err error) string {
	var e *pgerror.Error
	if errors.As(err, &e) {
		return "!" + string(e.Code) + " " + escapeLine(e.Message)
	}
	return "!XX000 " + err.Error()
}

func oracleEnv(t testing.TB) *sqltypes.Env {
	zone, err := time.LoadLocation(oracleZone)
	if err != nil {
		t.Skip("no time zone data: ", err)
	}
	f := sqltypes.DefaultFormats()
	f.TimeZone = zone
	return &sqltypes.Env{Ctx: context.Background(), Formats: f}
}

// knownDifferences are calls whose outcome PostgreSQL itself does not define, with the reason.
var knownDifferences = map[string]string{
	"to_char(int4 '-2147483648', text '999V99')": "its integer multiplication overflows",
}

func TestOracle(t *testing.T) {
	if *record != "" {
		recordAll(t)
	}
	env := oracleEnv(t)
	for _, file := range []string{"testdata/functions.tsv", "testdata/calls.tsv"} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		failed := map[string]int{}
		total, bad, refused := 0, 0, 0
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			callText, want, ok := strings.Cut(lines.Text(), "\t")
			c, err := parseCall(callText)
			if !ok || err != nil {
				t.Fatalf("%s: %q: %v", file, lines.Text(), err)
			}
			total++
			got := safely(func() string { return evaluate(env, c, outcomeType(want)) })
			if got == want {
				continue
			}
			if reason := knownDifferences[callText]; reason != "" {
				continue
			}
			if strings.HasPrefix(got, "!0A000 ") && !strings.HasPrefix(want, "!0A000") {
				refused++ // refused by name is not wrong
				continue
			}
			bad++
			if failed[c.name]++; failed[c.name] <= 10 {
				t.Errorf("%.300s\n\tgot  %.300s\n\twant %.300s", callText, got, want)
			}
		}
		names := make([]string, 0, len(failed))
		for n := range failed {
			names = append(names, fmt.Sprintf("%s:%d", n, failed[n]))
		}
		sort.Strings(names)
		t.Logf("%s: %d calls, %d refused as not supported, %d differ: %s", file, total, refused, bad, strings.Join(names, " "))
	}
}

// outcomeType is the type OID at the start of a recorded outcome, 0 for an error.
func outcomeType(s string) sqltypes.OID {
	n := sqltypes.OID(0)
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + sqltypes.OID(s[i]-'0')
	}
	return n
}

func safely(f func() string) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprint("panic: ", p)
		}
	}()
	return f()
}

func recordAll(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *record)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range []string{"SET timezone = '" + oracleZone + "'", "SET statement_timeout = '5s'"} {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file string, calls []oracleCall) {
		known := map[string]string{}
		if old, err := os.ReadFile(file); err == nil && !*recordAgain {
			for _, line := range strings.Split(string(old), "\n") {
				if call, out, ok := strings.Cut(line, "\t"); ok {
					known[call] = out
				}
			}
		}
		var b strings.Builder
		for _, c := range calls {
			out, ok := known[c.String()]
			if !ok {
				out = recordOutcome(ctx, conn.PgConn(), c)
			}
			if strings.HasPrefix(out, "!57014") || strings.HasPrefix(out, "!42883") || len(out) > 5000 {
				continue
			}
			fmt.Fprintf(&b, "%s\t%s\n", c, out)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("testdata/functions.tsv", sampleCalls())
	hand, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	var calls []oracleCall
	for _, line := range strings.Split(string(hand), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := parseCall(line)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	write("testdata/calls.tsv", calls)
}
