package syscat

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	"ostraka/sqltypes"
)

//go:embed facts/keywords.tsv
var keywordsTSV string

var keywordRows = sync.OnceValue(func() [][]sqltypes.Datum {
	category := map[string]string{"U": "unreserved", "C": "unreserved (cannot be function or type name)",
		"T": "reserved (can be function or type name)", "R": "reserved"}
	var out [][]sqltypes.Datum
	for line := range strings.Lines(keywordsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		bare, word := f[2] == "true", "requires AS"
		if bare {
			word = "can be bare label"
		}
		out = append(out, []sqltypes.Datum{text(f[0]), char(f[1][0]), yes(bare), text(category[f[1]]), text(word)})
	}
	return out
})

func init() {
	sqltypes.RegisterSet("pg_get_keywords", func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) {
		return &rowList{rows: keywordRows()}, nil
	})
	sqltypes.RegisterSet("pg_timezone_names", func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.RowSource, error) {
		return &rowList{rows: zoneRows(c.Env)}, nil
	})
	sqltypes.RegisterSet("pg_timezone_abbrevs", func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.RowSource, error) {
		out := &rowList{}
		for _, z := range sqltypes.TimeZoneAbbreviations(transactionTime(c.Env)) {
			out.rows = append(out.rows, []sqltypes.Datum{text(z.Abbrev), seconds(c.Env, z.East), yes(z.DST)})
		}
		return out, nil
	})
}

// unixOfEpoch is 2000-01-01 UTC, from which timestamps count.
const unixOfEpoch = 946684800

func transactionTime(env *sqltypes.Env) int64 {
	if env == nil {
		return 0
	}
	return env.TxnTime
}

// seconds is an interval.
func seconds(env *sqltypes.Env, n int) sqltypes.Datum {
	d, err := sqltypes.TypeByOID(sqltypes.OIDInterval).In(env, itoa(int64(n))+" seconds", -1)
	if err != nil {
		return sqltypes.Null
	}
	return d
}

// zoneRows lists the time zones with what they are at the transaction's time.
func zoneRows(env *sqltypes.Env) [][]sqltypes.Datum {
	at := time.Unix(transactionTime(env)/1e6+unixOfEpoch, 0)
	var out [][]sqltypes.Datum
	for _, name := range sqltypes.TimeZoneNames() {
		loc, ok := sqltypes.LookupTimeZone(name)
		if !ok {
			continue
		}
		t := at.In(loc)
		abbrev, east := t.Zone()
		out = append(out, []sqltypes.Datum{text(name), text(abbrev), seconds(env, east), yes(t.IsDST())})
	}
	return out
}
