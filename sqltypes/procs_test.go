package sqltypes

import (
	"testing"
	"time"
)

func TestFactsLoad(t *testing.T) {
	start := time.Now()
	if n := len(AllProcs()); n < 3244 {
		t.Fatalf("%d functions", n)
	}
	t.Logf("functions in %v", time.Since(start))
	if n := len(AllOperators()); n != 799 {
		t.Fatalf("%d operators", n)
	}
	if n := len(AllCasts()); n != 229 {
		t.Fatalf("%d casts", n)
	}
	if n := len(AllAggregates()); n != 148 {
		t.Fatalf("%d aggregates", n)
	}
	if len(AllOpClasses()) != 177 || len(AllOpFamilies()) != 146 || len(AllAmOps()) != 945 || len(AllAmProcs()) != 696 {
		t.Fatal("operator classes incomplete")
	}
	t.Logf("everything in %v", time.Since(start))
}

func TestProcRow(t *testing.T) {
	p := ProcByOID(3464) // make_interval
	if p == nil || p.Name != "make_interval" || !p.Strict || p.Volatility != Immutable || p.NumDefaults != 7 || p.Defaults[6] != "0.0" || p.ArgNames[1] != "months" {
		t.Fatalf("make_interval: %+v", p)
	}
	if n := len(ProcsByName("lpad")); n != 2 {
		t.Fatalf("%d lpad", n)
	}
}

func TestSortOperators(t *testing.T) {
	for _, c := range []struct {
		typ        OID
		lt, eq, gt OID
	}{
		{23, 97, 96, 521},        // int4
		{1043, 664, 98, 666},     // varchar as text
		{25, 664, 98, 666},       // text
		{1007, 1072, 1070, 1073}, // int4[] as anyarray
		{650, 1203, 1201, 1205},  // cidr as inet
		{3904, 3884, 3882, 3887}, // int4range
		{2205, 609, 607, 610},    // regclass as oid
		{2249, 2990, 2988, 2991}, // record
	} {
		lt, eq, gt, ok := SortOperators(c.typ)
		if !ok || lt.OID != c.lt || eq.OID != c.eq || gt.OID != c.gt {
			t.Errorf("type %d: %v %v %v %v", c.typ, lt, eq, gt, ok)
		}
	}
	if _, _, _, ok := SortOperators(114); ok {
		t.Error("json has an order")
	}
}

func TestLateRegistration(t *testing.T) {
	AllProcs()
	old := ProcByOID(177).Fn
	RegisterScalar("int4pl", func(*Call, []Datum) (Datum, error) { return Int(7), nil })
	if ProcByOID(177).Fn == nil {
		t.Fatal("a registration after the table was loaded had no effect")
	}
	RegisterScalar("int4pl", old)
}
