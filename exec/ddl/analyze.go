package ddl

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/axiomhq/hyperloglog"
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Sizes of what ANALYZE keeps, PostgreSQL's defaults (default_statistics_target = 100).
const (
	sampleRows  = 30_000
	mcvEntries  = 100
	histBuckets = 100
)

// analyze is ANALYZE, and VACUUM in so far as it means something: with ANALYZE it
// collects statistics; there are no dead rows to remove.
func (r *run) analyze(n *pg.VacuumStmt) error {
	collect, err := vacuumOptions(n)
	if err != nil {
		return err
	}
	var rels []*catalog.Relation
	for _, v := range n.Rels {
		rv := v.GetVacuumRelation().GetRelation()
		rel, _, err := r.findRelation(rv.Schemaname, rv.Relname)
		if err != nil {
			return err
		}
		if rel == nil {
			return noRelation(rv.Schemaname, rv.Relname)
		}
		if err := analyzeColumns(rel, v.GetVacuumRelation().GetVaCols()); err != nil {
			return err
		}
		rels = append(rels, rel)
	}
	if len(n.Rels) == 0 {
		r.catalog().AllRelations(func(rel *catalog.Relation) bool {
			rels = append(rels, rel)
			return true
		})
		slices.SortFunc(rels, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	}
	if !collect {
		return nil
	}
	for _, rel := range rels {
		if rel.Kind == catalog.KindPartitioned && len(n.Rels) > 0 {
			if err := r.analyzeTree(rel); err != nil {
				return err
			}
			continue
		}
		if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindMatView || rel.TimeSeries {
			continue
		}
		if !r.hasRole(rel.Owner) {
			r.s.Notice("WARNING", pgerror.SuccessfulCompletion, sprintf("skipping %q --- only table or database owner can analyze it", rel.Name))
			continue
		}
		if err := r.analyzeOne(rel); err != nil {
			return err
		}
	}
	return nil
}

// analyzeTree analyzes the partitions of a table; its own row count is theirs together.
func (r *run) analyzeTree(rel *catalog.Relation) error {
	sum := &catalog.TableStats{Relation: rel.OID, Columns: map[int16]*catalog.ColumnStats{}, AnalyzedAt: r.s.PlanContext().Env.StatementTime}
	for _, part := range r.catalog().Tree(rel) {
		if part.Partitioning != nil {
			continue
		}
		if err := r.analyzeOne(part); err != nil {
			return err
		}
		if st := r.catalog().Stats(part.OID); st != nil {
			sum.Rows += st.Rows
		}
	}
	r.schema().PutStats(sum)
	return nil
}

// analyzeOne reads the whole relation once, keeping a reservoir sample per
// column, the exact row count and a distinct-count sketch.
func (r *run) analyzeOne(rel *catalog.Relation) error {
	var cols []*catalog.Column
	var attrs []int16
	for _, c := range rel.Columns {
		if !c.Dropped {
			cols = append(cols, c)
			attrs = append(attrs, c.Num)
		}
	}
	sc, err := r.txn.Scan(r.ctx, engine.ScanSpec{Rel: rel, Cols: attrs})
	if err != nil {
		return err
	}
	defer sc.Close()
	s := newSampler(r.catalog(), cols)
	if err := s.read(r.ctx, sc); err != nil {
		return err
	}
	stats := &catalog.TableStats{Relation: rel.OID, Rows: float64(s.rows), Bytes: r.txn.EstimateBytes(rel, nil),
		Columns: map[int16]*catalog.ColumnStats{}, AnalyzedAt: r.s.PlanContext().Env.StatementTime}
	for i, c := range cols {
		stats.Columns[c.Num] = s.columns[i].stats(s.rows)
	}
	r.schema().PutStats(stats)
	return nil
}

// sampler accumulates a table.
type sampler struct {
	rows    int64
	columns []*columnSample
	rnd     *rand.Rand
}

type columnSample struct {
	typ    *sqltypes.Type
	values []sampled
	nulls  int64
	width  float64
	sketch *hyperloglog.Sketch
}

// sampled is a value with the place its row has in storage order.
type sampled struct {
	v   sqltypes.Datum
	row int64
}

func newSampler(cat *catalog.Catalog, cols []*catalog.Column) *sampler {
	s := &sampler{rnd: rand.New(rand.NewPCG(1, 2))} // a fixed seed: ANALYZE of the same rows gives the same statistics
	for _, c := range cols {
		s.columns = append(s.columns, &columnSample{typ: cat.Type(c.Type.OID), sketch: hyperloglog.New14()})
	}
	return s
}

// add takes one value; slot is the reservoir place of its row, -1 when it is not sampled.
func (c *columnSample) add(v sqltypes.Datum, row int64, slot int) {
	if v.Null {
		c.nulls++
	} else {
		c.width += float64(c.typ.Len)
		if c.typ.Len < 0 {
			c.width += float64(len(v.S)) + 5
			if v.S == "" {
				c.width += 4
			}
		}
		if c.typ.Hash != nil {
			c.sketch.InsertHash(c.typ.Hash(v))
		}
	}
	switch {
	case slot < 0:
	case slot < len(c.values):
		c.values[slot] = sampled{v, row}
	default:
		c.values = append(c.values, sampled{v, row})
	}
}

// stats turns the sample into what the planner reads.
func (c *columnSample) stats(rows int64) *catalog.ColumnStats {
	out := &catalog.ColumnStats{}
	if rows == 0 {
		return out
	}
	out.NullFrac = float64(c.nulls) / float64(rows)
	if n := rows - c.nulls; n > 0 {
		out.AvgWidth = c.width / float64(n)
		distinct := math.Min(float64(c.sketch.Estimate()), float64(n))
		out.NDistinct = distinct
		if distinct > 0.1*float64(rows) {
			out.NDistinct = -distinct / float64(rows)
		}
		if distinct > 0.98*float64(n) {
			out.NDistinct = -float64(n) / float64(rows)
		}
	}
	if c.typ.Compare == nil {
		return out
	}
	vals := slices.DeleteFunc(slices.Clone(c.values), func(s sampled) bool { return s.v.Null })
	slices.SortStableFunc(vals, func(a, b sampled) int { return c.typ.Compare(a.v, b.v) })
	if len(vals) == 0 {
		return out
	}
	out.Correlation = correlation(vals)
	rest := c.mostCommon(vals, out)
	if len(rest) > 1 {
		buckets := min(histBuckets, len(rest)-1)
		for i := 0; i <= buckets; i++ {
			out.Histogram = append(out.Histogram, rest[i*(len(rest)-1)/buckets].v)
		}
	}
	return out
}

// mostCommon moves values that are clearly commoner than the average into the MCV
// list and returns the others, sorted.
func (c *columnSample) mostCommon(vals []sampled, out *catalog.ColumnStats) []sampled {
	type group struct{ from, n int }
	var groups []group
	for i := 0; i < len(vals); {
		j := i + 1
		for j < len(vals) && c.typ.Compare(vals[i].v, vals[j].v) == 0 {
			j++
		}
		groups = append(groups, group{i, j - i})
		i = j
	}
	common := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.n < 2 })
	slices.SortStableFunc(common, func(a, b group) int { return b.n - a.n })
	total := float64(len(c.values))
	if len(common) < len(groups) || len(groups) > mcvEntries {
		// Not a complete list: keep what is at least 25 % commoner than the average.
		floor := 1.25 * float64(len(vals)) / float64(len(groups))
		common = slices.DeleteFunc(common, func(g group) bool { return float64(g.n) < floor })
	}
	common = common[:min(len(common), mcvEntries)]
	taken := map[int]bool{}
	for _, g := range common {
		out.MCV = append(out.MCV, vals[g.from].v)
		out.MCVFreq = append(out.MCVFreq, float64(g.n)/total)
		taken[g.from] = true
	}
	var rest []sampled
	for _, g := range groups {
		if !taken[g.from] {
			rest = append(rest, vals[g.from:g.from+g.n]...)
		}
	}
	return rest
}

// correlation of value order and storage order over a sorted sample.
func correlation(sorted []sampled) float64 {
	n := float64(len(sorted))
	if n < 2 {
		return 1
	}
	byRow := make([]int, len(sorted))
	for i := range byRow {
		byRow[i] = i
	}
	slices.SortFunc(byRow, func(a, b int) int { return int(sorted[a].row - sorted[b].row) })
	var sum float64
	for place, i := range byRow {
		sum += float64(place) * float64(i)
	}
	mean := (n - 1) / 2
	variance := (n*n - 1) / 12
	return (sum/n - mean*mean) / variance
}
