package store

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

func testFields() []Field {
	return []Field{{ID: 3, Kind: chunk.Float}, {ID: 4, Kind: chunk.Int}, {ID: 5, Kind: chunk.Text}}
}

func openMem(t testing.TB, fs vfs.FS, change func(*Options)) *Store {
	t.Helper()
	opt := Options{Dir: "ts", FS: fs, ChunkRows: 8, CompactAfter: 2, FlushBytes: 1 << 20}
	if change != nil {
		change(&opt)
	}
	st, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// model is a store as a map.
type model map[string]map[int64][]sqltypes.Datum

func (m model) dump(lo, hi int64, host string) string {
	var out []string
	for s, rows := range m {
		if host != "" && s != host {
			continue
		}
		for t, v := range rows {
			if t >= lo && t <= hi {
				out = append(out, fmt.Sprintf("%s %020d %s", s, t+1<<40, text(v)))
			}
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func text(v []sqltypes.Datum) string {
	var b strings.Builder
	for _, d := range v {
		if d.Null {
			b.WriteString(" null")
			continue
		}
		fmt.Fprintf(&b, " %x/%q", d.I, d.S)
	}
	return b.String()
}

func dump(t testing.TB, st *Store, tab *Table, series []*Series, rng Range) string {
	t.Helper()
	snap := st.Snapshot()
	defer snap.Close()
	return dumpSnap(t, snap, tab, series, rng)
}

func dumpSnap(t testing.TB, snap *Snapshot, tab *Table, series []*Series, rng Range) string {
	t.Helper()
	sc := snap.Scan(context.Background(), tab, series, rng, nil)
	defer sc.Close()
	var out []string
	last := map[uint32]int64{}
	for sc.Next() {
		r := sc.Rows()
		for i, tm := range r.Time {
			if l, ok := last[sc.Series().SID]; ok && l >= tm {
				t.Fatalf("times of a series do not ascend: %d after %d", tm, l)
			}
			last[sc.Series().SID] = tm
			v := make([]sqltypes.Datum, len(tab.Fields()))
			for k, f := range tab.Fields() {
				v[k] = sqltypes.Null
				for c := range r.Cols {
					col := &r.Cols[c]
					if col.ID != f.ID || col.Null != nil && col.Null[i] {
						continue
					}
					switch f.Kind {
					case chunk.Float:
						v[k] = sqltypes.Float(col.F64[i])
					case chunk.Int:
						v[k] = sqltypes.Int(col.I64[i])
					default:
						v[k] = sqltypes.Text(col.Str[i])
					}
				}
			}
			out = append(out, fmt.Sprintf("%s %020d %s", sc.Series().Tags[0].Value, tm+1<<40, text(v)))
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// TestModel: whatever happens, in whatever order, a scan shows what a map would.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewCrashableMem()
		st := openMem(t, fs, nil)
		defer func() { st.Close() }()
		spec := TableSpec{ID: 7, Tags: 1, Fields: testFields(), Window: 50}
		tab, err := st.Define(spec)
		if err != nil {
			rt.Fatal(err)
		}
		want := model{}
		var snap *Snapshot
		held := ""
		hosts := []string{"a", "b", "c"}
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				b := st.NewBatch()
				for range rapid.IntRange(1, 12).Draw(rt, "rows") {
					h := rapid.SampledFrom(hosts).Draw(rt, "host")
					tm := rapid.Int64Range(-120, 200).Draw(rt, "time")
					s, err := st.Series(tab, []Tag{{Value: h}})
					if err != nil {
						rt.Fatal(err)
					}
					if rapid.IntRange(0, 5).Draw(rt, "op") == 0 {
						b.Delete(s, tm)
						delete(want[h], tm)
						continue
					}
					v := []sqltypes.Datum{sqltypes.Float(rapid.SampledFrom([]float64{1, 2.25, math.Pi, math.Copysign(0, -1)}).Draw(rt, "f")),
						sqltypes.Int(rapid.Int64Range(-5, 5).Draw(rt, "i")), sqltypes.Text(rapid.SampledFrom([]string{"", "x", "long"}).Draw(rt, "s"))}
					for k := range v {
						if rapid.IntRange(0, 4).Draw(rt, "null") == 0 {
							v[k] = sqltypes.Null
						}
					}
					b.Put(s, tm, v)
					if want[h] == nil {
						want[h] = map[int64][]sqltypes.Datum{}
					}
					want[h][tm] = v
				}
				if err := st.Append(context.Background(), b, true); err != nil {
					rt.Fatal(err)
				}
			},
			"flush": func(rt *rapid.T) {
				if err := st.Flush(); err != nil {
					rt.Fatal(err)
				}
			},
			"compact": func(rt *rapid.T) {
				if err := st.Compact(); err != nil {
					rt.Fatal(err)
				}
			},
			"drop": func(rt *rapid.T) {
				lo := rapid.Int64Range(-150, 200).Draw(rt, "lo")
				from, to, err := st.DropRange(tab, lo, lo+120)
				if err != nil {
					rt.Fatal(err)
				}
				for _, rows := range want {
					for tm := range rows {
						if tm >= from && tm < to {
							delete(rows, tm)
						}
					}
				}
			},
			"hold": func(rt *rapid.T) {
				if snap != nil {
					if got := dumpSnap(t, snap, tab, nil, All); got != held {
						rt.Fatalf("a snapshot changed:\n%s\nwant\n%s", got, held)
					}
					snap.Close()
				}
				snap, held = st.Snapshot(), want.dump(math.MinInt64, math.MaxInt64, "")
			},
			"crash": func(rt *rapid.T) {
				if snap != nil {
					snap.Close()
					snap = nil
				}
				crashed := fs.CrashClone(vfs.CrashCloneCfg{})
				st.Close()
				fs = crashed
				st = openMem(t, fs, nil)
				tab = st.Table(7)
			},
			"": func(rt *rapid.T) {
				lo := rapid.Int64Range(-150, 200).Draw(rt, "from")
				hi := lo + rapid.Int64Range(0, 200).Draw(rt, "len")
				if got, w := dump(t, st, tab, nil, Range{lo, hi}), want.dump(lo, hi, ""); got != w {
					rt.Fatalf("[%d, %d]:\n%s\nwant\n%s", lo, hi, got, w)
				}
				rows := int64(0)
				for _, m := range want {
					rows += int64(len(m))
				}
				if s, err := st.TableStats(context.Background(), tab); err != nil || s.Rows != rows {
					rt.Fatalf("%d rows are counted, %v, want %d", s.Rows, err, rows)
				}
				h := rapid.SampledFrom(hosts).Draw(rt, "one")
				if got, w := dump(t, st, tab, tab.Select([]Matcher{{Values: []string{h}}}), Range{lo, hi}), want.dump(lo, hi, h); got != w {
					rt.Fatalf("%s [%d, %d]:\n%s\nwant\n%s", h, lo, hi, got, w)
				}
			},
		})
		if snap != nil {
			snap.Close()
		}
	})
}
