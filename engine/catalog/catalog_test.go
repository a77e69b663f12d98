package catalog

import (
	"fmt"
	"reflect"
	"testing"

	"ostraka/sqltypes"
)

func rel(oid OID, name string) *Relation {
	return &Relation{OID: oid, Name: name, Schema: 2200, Kind: KindTable, RowType: oid + 1000, StorageID: uint64(oid),
		Indexes: []*Index{{OID: oid + 2000, Name: name + "_pkey", Schema: 2200}},
		Columns: []*Column{{Num: 1, Name: "a", Type: sqltypes.ColumnType{OID: 23, TypMod: -1}}}}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	s := NewSet().Apply(Bootstrap("me"))
	a := s.Database(PostgresDB)
	s2 := s.Apply([]Change{Put(PostgresDB, rel(20000, "x")), Put(PostgresDB, rel(20001, "y"))})
	b := s2.Database(PostgresDB)
	if a.RelationByName(2200, "x") != nil || a.Relation(20000) != nil || b.RelationByName(2200, "x") == nil {
		t.Fatal("a change reached an older snapshot")
	}
	if s2.Database(Template1DB) != s.Database(Template1DB) {
		t.Error("another database's snapshot was replaced")
	}
	if b.Version <= a.Version {
		t.Errorf("version %d after %d", b.Version, a.Version)
	}
	// Names are swapped in one go; row types and indexes follow.
	x, y := *b.Relation(20000), *b.Relation(20001)
	x.Name, y.Name = "y", "x"
	c := s2.Apply([]Change{Put(PostgresDB, &x), Put(PostgresDB, &y)}).Database(PostgresDB)
	for name, oid := range map[string]OID{"y": 20000, "x": 20001} {
		r, ty := c.RelationByName(2200, name), c.TypeByName(2200, name)
		if r == nil || r.OID != oid || ty == nil || ty.OID != oid+1000 || c.Type(oid+1000) == nil {
			t.Errorf("%s: %v %v", name, r, ty)
		}
	}
	if r, _ := c.IndexByName(2200, "x_pkey"); r == nil || r.OID != 20000 {
		t.Error("index of a renamed table")
	}
	d := s2.Apply([]Change{Drop(PostgresDB, ObjRelation, 20000)}).Database(PostgresDB)
	if d.Relation(20000) != nil || d.TypeByName(2200, "x") != nil || d.UserType(21000) != nil {
		t.Error("something of a dropped relation is left")
	}
	if r, ix := d.Index(22000); r != nil || ix != nil {
		t.Error("index of a dropped relation is left")
	}
	// Shared objects are in every database at once.
	e := s2.Apply([]Change{Put(0, &Role{OID: 30000, Name: "bob"})})
	for _, db := range []OID{PostgresDB, Template1DB} {
		if e.Database(db).RoleByName("bob") == nil {
			t.Errorf("role is not in database %d", db)
		}
	}
	if e.Database(PostgresDB).Relation(20001) == nil {
		t.Error("a shared change lost a relation")
	}
	own := b.With([]Change{Put(PostgresDB, rel(20002, "z"))})
	if own.RelationByName(2200, "z") == nil || own.Version == b.Version || b.RelationByName(2200, "z") != nil {
		t.Error("overlay")
	}
}

func TestFunctions(t *testing.T) {
	s := NewSet().Apply(Bootstrap("me"))
	f := func(oid OID) Change { return Put(PostgresDB, &Function{OID: oid, Name: "f", Schema: 2200}) }
	c := s.Apply([]Change{f(1), f(2), f(1)}).Database(PostgresDB)
	if n := len(c.FunctionsByName(2200, "f")); n != 2 {
		t.Fatal(n)
	}
	c = c.With([]Change{Drop(PostgresDB, ObjFunction, 1)})
	if fs := c.FunctionsByName(2200, "f"); len(fs) != 1 || fs[0].OID != 2 {
		t.Fatal(fs)
	}
}

// every is one of each kind of descriptor, with every field set somewhere.
func every() []Change {
	r := rel(20000, "t")
	r.Columns[0].HasMissing, r.Columns[0].Missing = true, sqltypes.Text("\xff\x00 not utf-8")
	r.Layouts = []Layout{{Attrs: []int16{1}, Classes: []byte{ClassInt4}}}
	r.Sequence = &Sequence{Start: 1, Max: 1 << 62}
	out := append(Bootstrap("me"), Put(5, r),
		Put(5, &UserType{OID: 1, Name: "e", Kind: 'e', Labels: []EnumLabel{{1, "a", 1.5}}}),
		Put(5, &Function{OID: 2, Name: "f", ArgTypes: []sqltypes.ColumnType{{OID: 23}}, Volatility: 'v'}),
		Put(5, &DefaultACL{Role: 10, Schema: 2200, ObjType: 'r', ACL: []ACLItem{{Grantee: 1, Privs: "r"}}}),
		Put(5, &TableStats{Relation: 20000, Rows: 7, Columns: map[int16]*ColumnStats{1: {MCV: []sqltypes.Datum{sqltypes.Null, sqltypes.Int(3)}, NDistinct: -1}}}))
	return append(out, Drop(5, ObjRelation, 7))
}

func TestDescriptorRoundTrip(t *testing.T) {
	for _, ch := range every() {
		desc, err := ch.EncodeDescriptor()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeChange(ch.Key(), desc)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ch.Desc.(*Relation); ok {
			r.phys = nil
		}
		if !reflect.DeepEqual(got, ch) {
			t.Errorf("%+v\n%+v", got, ch)
		}
	}
}

func FuzzDecodeChange(f *testing.F) {
	for _, ch := range every() {
		desc, err := ch.EncodeDescriptor()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ch.Key(), desc)
	}
	f.Fuzz(func(t *testing.T, key, desc []byte) {
		if ch, err := DecodeChange(key, desc); err == nil && string(ch.Key()) != string(key) {
			t.Fatalf("%x read as %x", key, ch.Key())
		}
	})
}

func BenchmarkApply(b *testing.B) {
	s := NewSet().Apply(Bootstrap("me"))
	var chs []Change
	for i := range OID(2000) {
		chs = append(chs, Put(PostgresDB, rel(100000+10000*i, fmt.Sprint("t", i))))
	}
	s = s.Apply(chs)
	b.ReportAllocs()
	for b.Loop() {
		s = s.Apply(chs[7:8])
	}
}
