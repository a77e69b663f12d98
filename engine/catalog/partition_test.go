package catalog

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ostraka/sqltypes"
)

// parted makes a partitioned table with one partition per bound.
func parted(strategy byte, types []OID, bounds []*PartitionBound) *Partitions {
	r := rel(20000, "p")
	r.Kind, r.Partitioning = KindPartitioned, &Partitioning{Strategy: strategy}
	for i, t := range types {
		r.Partitioning.Keys = append(r.Partitioning.Keys, PartitionKey{Attr: int16(i + 1), Type: sqltypes.ColumnType{OID: t, TypMod: -1}})
	}
	chs := append(Bootstrap("me"), Put(PostgresDB, r))
	for i, b := range bounds {
		c := rel(OID(20100+i), fmt.Sprint("p", i))
		c.RowType, c.Indexes = 0, nil
		c.Parents, c.Bound = []OID{r.OID}, b
		chs = append(chs, Put(PostgresDB, c))
	}
	cat := NewSet().Apply(chs).Database(PostgresDB)
	return cat.Partitions(cat.Relation(r.OID))
}

// Where PostgreSQL 15 puts rows, recorded from it.
func TestHashPlacement(t *testing.T) {
	var bounds []*PartitionBound
	for i := range 4 {
		bounds = append(bounds, &PartitionBound{Modulus: 4, Remainder: i})
	}
	p := parted('h', []OID{sqltypes.OIDInt4, sqltypes.OIDText}, bounds)
	got := ""
	for i := range 12 {
		got += fmt.Sprint(p.Find([]sqltypes.Datum{sqltypes.Int(int64(i + 1)), sqltypes.Text(fmt.Sprint("v", i+1))}))
	}
	if got != "121223031001" {
		t.Error(got)
	}
	p = parted('h', []OID{sqltypes.OIDNumeric}, bounds)
	numeric := sqltypes.TypeByOID(sqltypes.OIDNumeric)
	got = ""
	for _, s := range []string{"-1", "0", "0.0001", "1", "1.5", "10000", "123456789.0123", "100000000000000000000", "NaN"} {
		d, err := numeric.In(plainEnv, s, -1)
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprint(p.Find([]sqltypes.Datum{d}))
	}
	if got != "130122320" {
		t.Error(got)
	}
}

// A partition that has a row which fulfils the conditions is never pruned.
func TestPruning(t *testing.T) {
	small := rapid.Custom(func(t *rapid.T) sqltypes.Datum {
		v := rapid.IntRange(-1, 12).Draw(t, "v")
		if v < 0 {
			return sqltypes.Null
		}
		return sqltypes.Int(int64(v))
	})
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom([]byte("lrh")).Draw(t, "strategy")
		types := []OID{sqltypes.OIDInt4}
		if strategy != 'l' && rapid.Bool().Draw(t, "two") {
			types = append(types, sqltypes.OIDInt4)
		}
		var bounds []*PartitionBound
		add := func(b *PartitionBound) {
			if o := parted(strategy, types, bounds).Overlapping(b); o.Part < 0 && !o.Empty {
				bounds = append(bounds, b)
			}
		}
		if strategy != 'h' && rapid.Bool().Draw(t, "default") {
			bounds = append(bounds, &PartitionBound{Default: true})
		}
		bound := rapid.Custom(func(t *rapid.T) (out []RangeBound) {
			kind := 0
			for range types {
				if kind == 0 {
					kind = rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "kind")
				}
				b := RangeBound{Kind: kind}
				if kind == 0 {
					b.Value = sqltypes.Int(int64(rapid.IntRange(0, 12).Draw(t, "bound")))
				}
				out = append(out, b)
			}
			return out
		})
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			switch strategy {
			case 'l':
				add(&PartitionBound{List: rapid.SliceOfN(small, 1, 3).Draw(t, "list")})
			case 'r':
				add(&PartitionBound{Lower: bound.Draw(t, "lower"), Upper: bound.Draw(t, "upper")})
			default:
				add(&PartitionBound{Modulus: 4, Remainder: rapid.IntRange(0, 3).Draw(t, "remainder")})
			}
		}
		p := parted(strategy, types, bounds)
		cond := rapid.Custom(func(t *rapid.T) KeyCond {
			c := KeyCond{Key: rapid.IntRange(0, len(types)-1).Draw(t, "key"), Op: rapid.SampledFrom([]byte("=<l>g!nN")).Draw(t, "op")}
			switch c.Op {
			case 'n', 'N':
			case '=':
				c.Values = rapid.SliceOfN(small, 1, 3).Draw(t, "values")
			default:
				c.Values = []sqltypes.Datum{small.Draw(t, "value")}
			}
			return c
		})
		conds := rapid.SliceOfN(cond, 0, 4).Draw(t, "conds")
		keep := p.Keep(conds)
		for range 30 {
			var key []sqltypes.Datum
			for range types {
				key = append(key, small.Draw(t, "key"))
			}
			fulfils := true
			for i := range conds {
				c := &conds[i]
				if c.Op != 'n' && c.Op != 'N' && c.Op != '=' && c.Values[0].Null {
					fulfils = false
					continue
				}
				fulfils = fulfils && p.holds(c, key[c.Key])
			}
			if at := p.Find(key); fulfils && at >= 0 && !keep[at] {
				t.Fatalf("%c %v: the partition %d of %v is pruned by %+v", strategy, bounds, at, key, conds)
			}
		}
	})
}
