package exec

import (
	"ostraka/sqltypes"
)

// How the states of aggregates take in what another node has computed over its rows;
// peerSQL.parts says what the values are.

func (c *countAgg) merge(g int32, parts []sqltypes.Datum) error {
	c.n[g] += parts[0].I
	return nil
}

func (c *sumIntAgg) merge(g int32, parts []sqltypes.Datum) error {
	if !parts[0].Null {
		c.s[g].sum += parts[0].I
		c.s[g].n++
	}
	return nil
}

func (c *numericAgg) merge(g int32, parts []sqltypes.Datum) error {
	if parts[0].Null {
		return nil
	}
	c.s[g].n += parts[1].I
	c.exact(g).Add(parts[0])
	return nil
}

// exact is the sum of any size of a group.
func (c *numericAgg) exact(g int32) *sqltypes.NumericSum {
	if c.slow == nil {
		c.slow = map[int]*sqltypes.NumericSum{}
	}
	slow := c.slow[int(g)]
	if slow == nil {
		slow = &sqltypes.NumericSum{}
		c.slow[int(g)] = slow
	}
	return slow
}

func (c *floatAgg) merge(g int32, parts []sqltypes.Datum) error {
	if parts[0].Null {
		return nil
	}
	s, x := &c.s[g], parts[0].Float()
	t, ok := c.plus(s.sum, x)
	if !ok {
		return sqltypes.FloatOverflow()
	}
	s.sum = t
	s.n += parts[1].I
	return nil
}

func (c *minMaxIntAgg) merge(g int32, parts []sqltypes.Datum) error {
	s := &c.s[g]
	if d := parts[0]; !d.Null && (!s.set || c.sign > 0 && d.I < s.v || c.sign < 0 && d.I > s.v) {
		s.v, s.set = d.I, true
	}
	return nil
}

func (c *minMaxFloatAgg) merge(g int32, parts []sqltypes.Datum) error {
	s := &c.s[g]
	if d := parts[0]; !d.Null && (!s.set || c.better(d.Float(), s.v)) {
		s.v, s.set = d.Float(), true
	}
	return nil
}

func (c *minMaxAgg) merge(g int32, parts []sqltypes.Datum) error {
	if d := parts[0]; !d.Null && (!c.set[g] || c.typ.Compare(d, c.s[g])*c.sign < 0) {
		c.extra += int64(len(d.S)) - int64(len(c.s[g].S))
		c.s[g], c.set[g] = d, true
	}
	return nil
}

func (c *edgeAgg) merge(g int32, parts []sqltypes.Datum) error {
	v, t := parts[0], parts[1]
	s := &c.s[g]
	if t.Null || s.set && (t.I == s.t || t.I > s.t != c.last) {
		return nil
	}
	c.extra += int64(len(v.S)) - int64(len(s.v.S))
	s.t, s.v, s.set = t.I, v, true
	return nil
}

// merge takes in the state of an aggregate that can, and steps once more of those
// whose result over some results is that over all rows.
func (g *genericAgg) merge(i int32, parts []sqltypes.Datum) error {
	g.call.Env = g.x.env
	for _, d := range parts {
		g.stepped += int64(len(d.S))
	}
	if m, ok := g.states[i].(sqltypes.AggMerger); ok {
		return m.Merge(&g.call, parts)
	}
	if parts[0].Null && (g.skipNull || len(parts) == 1) {
		return nil
	}
	return g.states[i].Step(&g.call, parts)
}
