package storage

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// classTypes has one type of every physical class.
var classTypes = []sqltypes.OID{sqltypes.OIDBool, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDOid, sqltypes.OIDFloat4,
	sqltypes.OIDFloat8, sqltypes.OIDNumeric, sqltypes.OIDInterval, sqltypes.OIDTimetz, sqltypes.OIDText}

// Types may lack their behaviour while they are being built; their layout is what counts here.
func classType(oid sqltypes.OID) *sqltypes.Type {
	t := *sqltypes.TypeByOID(oid)
	switch oid {
	case sqltypes.OIDNumeric:
		t.Kind = sqltypes.KNumeric
	case sqltypes.OIDInterval, sqltypes.OIDTimetz:
		t.Kind = sqltypes.KDatum
	case sqltypes.OIDText:
		t.Kind = sqltypes.KBytes
	}
	return &t
}

func drawValue(t *rapid.T, typ *sqltypes.Type) sqltypes.Datum {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return sqltypes.Null
	}
	v := rapid.Int64().Draw(t, "v")
	switch catalog.ClassOf(typ) {
	case catalog.ClassInt1:
		return sqltypes.Int(v & 1)
	case catalog.ClassInt2:
		return sqltypes.Int(int64(int16(v)))
	case catalog.ClassInt4:
		return sqltypes.Int(int64(int32(v)))
	case catalog.ClassInt8:
		return sqltypes.Int(v)
	case catalog.ClassUint4:
		return sqltypes.Int(int64(uint32(v)))
	case catalog.ClassFloat4:
		return sqltypes.Float(float64(rapid.Float32().Draw(t, "f")))
	case catalog.ClassFloat8:
		return sqltypes.Float(rapid.Float64().Draw(t, "f"))
	case catalog.ClassNumeric:
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			return sqltypes.Datum{S: "wide" + rapid.StringN(0, 20, 60).Draw(t, "w")}
		case 1:
			return sqltypes.Datum{I: v, Aux: rapid.Int32Range(0, 16383).Draw(t, "scale")}
		}
		return sqltypes.Datum{I: v, Aux: 2}
	case catalog.ClassInterval:
		d := sqltypes.Int(v)
		if rapid.Bool().Draw(t, "months") {
			d.S = "\x00\x00\x00\x01\xff\xff\xff\xff"
		}
		return d
	case catalog.ClassTimeTZ:
		return sqltypes.Datum{I: v, Aux: int32(v >> 7)}
	}
	s := rapid.String().Draw(t, "s")
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		s = strings.Repeat("x", 70000)
	}
	return sqltypes.Text(s)
}

// What is written comes back, as Datums and in vectors, under the layout it was
// written under and after columns were added and dropped.
func TestRowRoundTrip(t *testing.T) {
	types := map[sqltypes.OID]*sqltypes.Type{}
	for _, oid := range classTypes {
		types[oid] = classType(oid)
	}
	typ := func(oid sqltypes.OID) *sqltypes.Type { return types[oid] }
	rapid.Check(t, func(t *rapid.T) {
		oids := rapid.SliceOfN(rapid.SampledFrom(classTypes), 1, 20).Draw(t, "types")
		rel := &catalog.Relation{Name: "t", Kind: catalog.KindTable, StorageID: 7}
		for _, o := range oids {
			rel.Columns = append(rel.Columns, &catalog.Column{Type: sqltypes.ColumnType{OID: o, TypMod: -1}})
		}
		rel, err := catalog.WithLayouts(rel, nil, typ)
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := newTable(rel, typ)
		if err != nil {
			t.Fatal(err)
		}
		var vals [][]byte
		var want [][]sqltypes.Datum
		for i := range rapid.IntRange(1, 5).Draw(t, "rows") {
			row := make([]sqltypes.Datum, len(oids))
			for j := range row {
				row[j] = drawValue(t, types[oids[j]])
			}
			vals, want = append(vals, tbl.AppendRow([]byte("junk before")[:0], uint64(i+5), row)), append(want, row)
		}
		checkRows(t, tbl, vals, want, nil)

		// ALTER TABLE: drop one, add one with a missing value.
		next := *rel
		next.Columns = append([]*catalog.Column(nil), rel.Columns...)
		gone := rapid.IntRange(0, len(oids)-1).Draw(t, "drop")
		dropped := *next.Columns[gone]
		dropped.Dropped = true
		next.Columns[gone] = &dropped
		next.Columns = append(next.Columns, &catalog.Column{Type: sqltypes.ColumnType{OID: sqltypes.OIDText, TypMod: -1},
			HasMissing: true, Missing: sqltypes.Text("default")})
		rel2, err := catalog.WithLayouts(&next, rel, typ)
		if err != nil {
			t.Fatal(err)
		}
		if len(rel2.Layouts) != 2 {
			t.Fatalf("%d layouts", len(rel2.Layouts))
		}
		tbl2, err := newTable(rel2, typ)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = append(append([]sqltypes.Datum(nil), want[i]...), sqltypes.Text("default"))
			want[i][gone] = sqltypes.Null
		}
		row := append([]sqltypes.Datum(nil), want[0]...)
		row[len(row)-1] = sqltypes.Text("own")
		vals, want = append(vals, tbl2.AppendRow(nil, 99, row)), append(want, row)
		checkRows(t, tbl2, vals, want, &gone)
	})
}

func checkRows(t *rapid.T, tbl *Table, vals [][]byte, want [][]sqltypes.Datum, dropped *int) {
	var cols []int16
	for i := range want[0] {
		if dropped == nil || i != *dropped {
			cols = append(cols, int16(i+1))
		}
	}
	dec, err := tbl.NewVecDecoder(cols, 8)
	if err != nil {
		t.Fatal(err)
	}
	for again := 0; again < 2; again++ { // the second time the vectors are dirty
		dec.Reset()
		for i := range vals {
			got := make([]sqltypes.Datum, len(want[i]))
			if err := tbl.DecodeRow(nil, vals[i], nil, got); err != nil {
				t.Fatal(err)
			}
			for j := range got {
				if got[j] != want[i][j] {
					t.Fatalf("row %d column %d: got %v, want %v", i, j, got[j], want[i][j])
				}
			}
			if err := dec.Row(nil, vals[i], i); err != nil {
				t.Fatal(err)
			}
		}
		vecs := dec.Finish()
		for i := range vals {
			for j, num := range cols {
				if got := vecs[j].Datum(i); got != want[i][num-1] {
					t.Fatalf("vector %d row %d: got %v, want %v", j, i, got, want[i][num-1])
				}
			}
		}
	}
}

// A decoder that gets any bytes answers an error or a row, and never panics.
func FuzzDecodeRow(f *testing.F) {
	types := map[sqltypes.OID]*sqltypes.Type{}
	rel := &catalog.Relation{Name: "t", Kind: catalog.KindTable, StorageID: 7}
	var row []sqltypes.Datum
	for i, oid := range classTypes {
		types[oid] = classType(oid)
		rel.Columns = append(rel.Columns, &catalog.Column{Type: sqltypes.ColumnType{OID: oid, TypMod: -1}})
		row = append(row, sqltypes.Int(int64(i)))
	}
	row[7] = sqltypes.Datum{S: "wide"}
	row[10] = sqltypes.Text("text")
	typ := func(oid sqltypes.OID) *sqltypes.Type { return types[oid] }
	rel, err := catalog.WithLayouts(rel, nil, typ)
	if err != nil {
		f.Fatal(err)
	}
	tbl, err := newTable(rel, typ)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tbl.AppendRow(nil, math.MaxUint64, row))
	f.Add([]byte{})
	cols := make([]int16, len(row))
	for i := range cols {
		cols[i] = int16(i + 1)
	}
	f.Fuzz(func(t *testing.T, val []byte) {
		dst := make([]sqltypes.Datum, len(row))
		_ = tbl.DecodeRow(nil, val, nil, dst)
		dec, err := tbl.NewVecDecoder(cols, 1)
		if err != nil {
			t.Fatal(err)
		}
		dec.Reset()
		_ = dec.Row(nil, val, 0)
		dec.Finish()
	})
}
