package sqltypes

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:generate go run ./internal/gencatalog -dsn $PGDSN -out facts

// The rows that initdb of PostgreSQL 15 makes, one line a row, columns parted
// by tabs (internal/gencatalog has the queries). They are parsed on first use: about
// 3 ms for all of them.
var (
	//go:embed facts/procs.tsv
	procFacts string
	//go:embed facts/operators.tsv
	operatorFacts string
	//go:embed facts/casts.tsv
	castFacts string
	//go:embed facts/aggregates.tsv
	aggregateFacts string
	//go:embed facts/opfamilies.tsv
	opfamilyFacts string
	//go:embed facts/opclasses.tsv
	opclassFacts string
	//go:embed facts/amops.tsv
	amopFacts string
	//go:embed facts/amprocs.tsv
	amprocFacts string
)

// Schemas whose OIDs are fixed.
const (
	NamespaceInformationSchema OID = 13207
	NamespaceOstraka           OID = 9000 // schema ostraka
	NamespaceDoc               OID = 9001 // schema doc
	NamespaceTS                OID = 9002 // schema ts
)

// factLine reads one line of a facts file column by column. The files are part
// of the binary, so a malformed number is a bug and panics at load.
type factLine string

func (l *factLine) str() string {
	col, rest, _ := strings.Cut(string(*l), "\t")
	*l = factLine(rest)
	return col
}

func (l *factLine) oid() OID { return factOID(l.str()) }

func (l *factLine) float() float32 {
	s := l.str()
	f, err := strconv.ParseFloat(s, 32)
	if err != nil {
		panic("sqltypes: facts: " + err.Error())
	}
	return float32(f)
}

// oids reads a column of OIDs parted by spaces.
func (l *factLine) oids() []OID {
	s := l.str()
	if s == "" {
		return nil
	}
	out := make([]OID, 0, strings.Count(s, " ")+1)
	for s != "" {
		var one string
		one, s, _ = strings.Cut(s, " ")
		out = append(out, factOID(one))
	}
	return out
}

func factOID(s string) OID {
	n := OID(0)
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			panic("sqltypes: facts: not an OID: " + s)
		}
		n = n*10 + OID(s[i]-'0')
	}
	return n
}

// eachFact calls f with every line of a facts file.
func eachFact(text string, f func(l *factLine)) {
	for text != "" {
		var one string
		one, text, _ = strings.Cut(text, "\n")
		l := factLine(one)
		f(&l)
	}
}
