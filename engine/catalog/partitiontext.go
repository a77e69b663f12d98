package catalog

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
)

// The SQL texts of partition bounds.

var plainEnv = &sqltypes.Env{Formats: sqltypes.DefaultFormats()}

// literal is a value's text in SQL; with typed it has its type behind it.
func (c *Catalog) literal(ct sqltypes.ColumnType, d sqltypes.Datum, typed bool) string {
	if d.Null {
		return "NULL"
	}
	t := c.Type(ct.OID)
	if t == nil {
		return "?"
	}
	s := string(t.Out(plainEnv, nil, d))
	base := t
	for base.Base != nil {
		base = base.Base
	}
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		quoted = "E'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), `\`, `\\`) + "'"
	}
	if typed {
		return quoted + "::" + c.typeText(ct.OID)
	}
	switch base.OID {
	case sqltypes.OIDBool:
		if d.I != 0 {
			return "true"
		}
		return "false"
	case sqltypes.OIDInt4:
		if s[0] != '-' {
			return s
		}
	case sqltypes.OIDInt2, sqltypes.OIDInt8, sqltypes.OIDOid, sqltypes.OIDFloat4, sqltypes.OIDFloat8, sqltypes.OIDNumeric:
		if strings.Trim(s, "0123456789+-eE.") == "" {
			if s[0] == '-' {
				return "'" + s + "'"
			}
			return s
		}
	}
	return quoted
}

func (c *Catalog) typeText(oid OID) string {
	if u := c.UserType(oid); u != nil {
		if s := c.Schema(u.Schema); s != nil {
			return sqltypes.QuoteIdent(s.Name) + "." + sqltypes.QuoteIdent(u.Name)
		}
	}
	return sqltypes.FormatType(oid, -1)
}

// RangeBoundTexts are the values of a range bound of one of parent's partitions.
func RangeBoundTexts(c *Catalog, parent *Relation, list []RangeBound) []string {
	var out []string
	for i, b := range list {
		switch b.Kind {
		case -1:
			out = append(out, "MINVALUE")
		case 1:
			out = append(out, "MAXVALUE")
		default:
			out = append(out, c.literal(parent.Partitioning.Keys[i].Type, b.Value, false))
		}
	}
	return out
}

// BoundText is a partition's FOR VALUES clause as pg_get_expr(relpartbound) has it;
// "" for other relations.
func (c *Catalog) BoundText(rel *Relation) string {
	b := rel.Bound
	if b == nil || len(rel.Parents) == 0 {
		return ""
	}
	parent := c.Relation(rel.Parents[0])
	switch {
	case parent == nil || parent.Partitioning == nil:
		return ""
	case b.Default:
		return "DEFAULT"
	case b.Modulus > 0:
		return "FOR VALUES WITH (modulus " + strconv.Itoa(b.Modulus) + ", remainder " + strconv.Itoa(b.Remainder) + ")"
	case parent.Partitioning.Strategy == 'l':
		var vals []string
		for _, d := range b.List {
			vals = append(vals, c.literal(parent.Partitioning.Keys[0].Type, d, false))
		}
		return "FOR VALUES IN (" + strings.Join(vals, ", ") + ")"
	}
	return "FOR VALUES FROM (" + strings.Join(RangeBoundTexts(c, parent, b.Lower), ", ") + ") TO (" + strings.Join(RangeBoundTexts(c, parent, b.Upper), ", ") + ")"
}

// KeyText is a column of a partition key in SQL.
func KeyText(rel *Relation, k PartitionKey) string {
	if k.Attr != 0 {
		return sqltypes.QuoteIdent(rel.Columns[k.Attr-1].Name)
	}
	return "(" + k.Expr + ")"
}

// PartitionCondition is the condition, in SQL over names of columns, that a bound
// puts on the rows of a partition of parent; "" when it puts none.
func (c *Catalog) PartitionCondition(parent *Relation, part *Relation) string {
	return strings.Join(c.conditions(parent, part), " AND ")
}

// conditions are the parts of PartitionCondition, all of which must hold.
func (c *Catalog) conditions(parent *Relation, part *Relation) []string {
	b := part.Bound
	p := parent.Partitioning
	if b == nil || p == nil {
		return nil
	}
	if b.Default {
		var others []string
		for _, r := range c.Partitions(parent).Parts {
			if r.Bound.Default || r.OID == part.OID {
				continue
			}
			others = append(others, "("+c.PartitionCondition(parent, r)+")")
		}
		if len(others) == 0 {
			return nil
		}
		if p.Strategy == 'l' {
			return []string{"NOT (" + strings.Join(c.listCondition(parent, c.Partitions(parent).listed()), " AND ") + ")"}
		}
		return []string{"NOT (" + strings.Join(others, " OR ") + ")"}
	}
	switch p.Strategy {
	case 'h':
		args := []string{"'" + strconv.Itoa(int(parent.OID)) + "'::oid", strconv.Itoa(b.Modulus), strconv.Itoa(b.Remainder)}
		for _, k := range p.Keys {
			args = append(args, KeyText(parent, k))
		}
		return []string{"satisfies_hash_partition(" + strings.Join(args, ", ") + ")"}
	case 'l':
		return c.listCondition(parent, b.List)
	}
	return c.rangeCondition(parent, b)
}

// listed are all values that the partitions of a list have.
func (p *Partitions) listed() []sqltypes.Datum {
	var out []sqltypes.Datum
	for _, r := range p.Parts {
		out = append(out, r.Bound.List...)
	}
	return out
}

func (c *Catalog) listCondition(parent *Relation, list []sqltypes.Datum) []string {
	k := parent.Partitioning.Keys[0]
	key := KeyText(parent, k)
	var vals []string
	null := false
	for _, d := range list {
		if d.Null {
			null = true
		} else {
			vals = append(vals, c.literal(k.Type, d, true))
		}
	}
	cond := ""
	switch len(vals) {
	case 0:
		return []string{"(" + key + " IS NULL)"}
	case 1:
		cond = key + " = " + vals[0]
	default:
		cond = key + " = ANY (ARRAY[" + strings.Join(vals, ", ") + "])"
	}
	if null {
		return []string{"((" + key + " IS NULL) OR (" + cond + "))"}
	}
	return []string{"(" + key + " IS NOT NULL)", "(" + cond + ")"}
}

// rangeCondition is get_qual_for_range.
func (c *Catalog) rangeCondition(parent *Relation, b *PartitionBound) []string {
	keys := parent.Partitioning.Keys
	var out []string
	for _, k := range keys {
		out = append(out, "("+KeyText(parent, k)+" IS NOT NULL)")
	}
	lit := func(i int, r RangeBound) string { return c.literal(keys[i].Type, r.Value, true) }
	// Leading columns with one value.
	n := 0
	types := c.Partitions(parent).types
	for n < len(keys)-1 && b.Lower[n].Kind == 0 && b.Upper[n].Kind == 0 && types[n] != nil && types[n].Compare(b.Lower[n].Value, b.Upper[n].Value) == 0 {
		out = append(out, "("+KeyText(parent, keys[n])+" = "+lit(n, b.Lower[n])+")")
		n++
	}
	side := func(list []RangeBound, strict, last string) {
		var arms []string
		for i := n; i < len(keys); i++ {
			if list[i].Kind != 0 {
				break
			}
			var conj []string
			for j := n; j < i; j++ {
				conj = append(conj, "("+KeyText(parent, keys[j])+" = "+lit(j, list[j])+")")
			}
			op := strict
			// The last value that counts: what follows decides whether it is in.
			if i == len(keys)-1 {
				op = last
			} else if list[i+1].Kind != 0 {
				if last == ">=" && list[i+1].Kind < 0 || last == "<" && list[i+1].Kind > 0 {
					op = strict + "="
				}
			}
			conj = append(conj, "("+KeyText(parent, keys[i])+" "+op+" "+lit(i, list[i])+")")
			if len(conj) > 1 {
				arms = append(arms, "("+strings.Join(conj, " AND ")+")")
			} else {
				arms = append(arms, conj[0])
			}
		}
		if len(arms) == 1 {
			out = append(out, arms[0])
		} else if len(arms) > 1 {
			out = append(out, "("+strings.Join(arms, " OR ")+")")
		}
	}
	side(b.Lower, ">", ">=")
	side(b.Upper, "<", "<")
	return out
}

// PartitionConstraint is PartitionCondition of a relation and all its ancestors; ""
// if there is none.
func (c *Catalog) PartitionConstraint(rel *Relation) string {
	var out []string
	for r := rel; r.Bound != nil && len(r.Parents) > 0; {
		p := c.Relation(r.Parents[0])
		if p == nil {
			break
		}
		out = append(c.conditions(p, r), out...)
		r = p
	}
	return strings.Join(out, " AND ")
}
