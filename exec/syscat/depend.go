package syscat

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// OIDs of the catalogues themselves, as pg_description and pg_depend name them.
const (
	classClass      sqltypes.OID = 1259
	classType       sqltypes.OID = 1247
	classProc       sqltypes.OID = 1255
	classNamespace  sqltypes.OID = 2615
	classConstraint sqltypes.OID = 2606
	classAttrdef    sqltypes.OID = 2604
	classDatabase   sqltypes.OID = 1262
	classAuthid     sqltypes.OID = 1260
	classRewrite    sqltypes.OID = 2618
	classOperator   sqltypes.OID = 2617
	classCast       sqltypes.OID = 2605
)

// defaultSequence is the sequence that a default takes its value from; 0 none.
func defaultSequence(cat *catalog.Catalog, c *catalog.Column) sqltypes.OID {
	if c.OwnedSequence != 0 {
		return c.OwnedSequence
	}
	_, arg, ok := strings.Cut(c.Default, "nextval(")
	if !ok {
		return 0
	}
	if name, isText := strings.CutPrefix(arg, "'"); isText {
		name, _, _ = strings.Cut(name, "'")
		parts, err := splitName(name)
		if err != nil || len(parts) != 2 {
			return 0
		}
		if s := cat.SchemaByName(parts[0]); s != nil {
			if r := cat.RelationByName(s.OID, parts[1]); r != nil {
				return r.OID
			}
		}
		return 0
	}
	number, _, _ := strings.Cut(arg, ":")
	return oidOf(number)
}

// depender emits the dependencies of one object after the other.
type depender struct {
	q    *Query
	emit Emit
	ctx  *planner.Context // nil outside a session: expressions are not looked into
}

// objectRef names an object: a catalogue, an OID in it and a column.
type objectRef struct {
	class, oid sqltypes.OID
	sub        int
}

func (d *depender) on(o, ref objectRef, kind byte) {
	d.emit(oid(o.class), oid(o.oid), num(o.sub), oid(ref.class), oid(ref.oid), num(ref.sub), char(kind))
}

// uses emits what an expression of o refers to besides columns, each once, and
// returns the columns of the relation that it is over.
func (d *depender) uses(o objectRef, roots ...expr.Expr) (attrs []int16) {
	seen := map[objectRef]bool{}
	ref := func(class, x sqltypes.OID) {
		if k := (objectRef{class, x, 0}); x >= catalog.FirstUserOID && !seen[k] {
			seen[k] = true
			d.on(o, k, 'n')
		}
	}
	for _, e := range roots {
		expr.Walk(e, func(e expr.Expr) bool {
			switch n := e.(type) {
			case *expr.Col:
				if a := int16(n.Idx + 1); !slices.Contains(attrs, a) {
					attrs = append(attrs, a)
				}
			case *expr.Const:
				ref(classType, n.Type().OID)
			case *expr.CoerceDomain:
				ref(classType, n.Type().OID)
			case *expr.Call:
				ref(classProc, n.Proc.OID)
			}
			return true
		})
	}
	slices.Sort(attrs)
	return attrs
}

// dependRows are the dependencies between objects. Those that only PostgreSQL's
// storage has (TOAST tables, triggers of foreign keys) have no objects here.
func dependRows(q *Query, emit Emit) error {
	d := &depender{q: q, emit: emit}
	if ctx, err := contextOf(q.Env); err == nil {
		c := *ctx
		c.Catalog = q.Cat
		d.ctx = &c
	}
	q.system(func() { emitFixed("pg_depend", emit) })
	for _, t := range userTypes(q.Cat) {
		if t.OID >= catalog.FirstUserOID {
			d.typ(t)
		}
	}
	for _, f := range sorted(q.Cat.AllFunctions, func(f *catalog.Function) sqltypes.OID { return f.OID }) {
		d.function(f)
	}
	for _, o := range sorted(q.Cat.AllOperators, func(o *catalog.Operator) sqltypes.OID { return o.OID }) {
		d.operator(o)
	}
	for _, c := range sorted(q.Cat.AllCasts, func(c *catalog.Cast) sqltypes.OID { return c.OID }) {
		k := objectRef{classCast, c.OID, 0}
		d.onUsers(k, classType, c.Source, c.Target)
		d.onUsers(k, classProc, c.Func)
	}
	d.publications()
	q.each(nil, d.relation)
	return nil
}

func (d *depender) operator(o *catalog.Operator) {
	k := objectRef{classOperator, o.OID, 0}
	d.on(k, objectRef{classNamespace, o.Schema, 0}, 'n')
	d.onUsers(k, classType, o.Left, o.Right, o.Result)
	d.onUsers(k, classProc, o.Proc, o.Restrict, o.Join)
}

// onUsers emits dependencies on those of the objects that came not with the cluster.
func (d *depender) onUsers(o objectRef, class sqltypes.OID, refs ...sqltypes.OID) {
	for _, x := range refs {
		if x >= catalog.FirstUserOID {
			d.on(o, objectRef{class, x, 0}, 'n')
		}
	}
}

func (d *depender) typ(t *catalog.UserType) {
	o := objectRef{classType, t.OID, 0}
	if t.ArrayOID != 0 {
		d.on(objectRef{classType, t.ArrayOID, 0}, o, 'i')
	}
	switch r := d.q.Cat.Relation(t.Relation); {
	case t.Relation != 0 && r != nil && byte(r.Kind) == 'c':
		d.on(objectRef{classClass, r.OID, 0}, o, 'i')
		d.on(o, objectRef{classNamespace, t.Schema, 0}, 'n')
	case t.Relation != 0:
		d.on(o, objectRef{classClass, t.Relation, 0}, 'i')
	case t.Kind == 'm':
		return // of its range
	default:
		d.on(o, objectRef{classNamespace, t.Schema, 0}, 'n')
	}
	user := func(x sqltypes.OID) {
		if x >= catalog.FirstUserOID {
			d.on(o, objectRef{classType, x, 0}, 'n')
		}
	}
	user(t.Base.OID)
	user(t.Subtype)
	if t.Multirange != 0 {
		d.on(objectRef{classType, t.Multirange, 0}, o, 'i')
	}
	for _, c := range t.Checks {
		k := objectRef{classConstraint, c.OID, 0}
		d.on(k, o, 'a')
		if d.ctx != nil {
			if e, err := bind.DomainCheckExpr(d.ctx, t.Base, c.Expr); err == nil {
				d.uses(k, e)
			}
		}
	}
}

func (d *depender) function(f *catalog.Function) {
	o := objectRef{classProc, f.OID, 0}
	d.on(o, objectRef{classNamespace, f.Schema, 0}, 'n')
	if f.Language == "internal" && strings.Contains(f.Body, "range_constructor") { // came with a range type
		d.on(o, objectRef{classType, f.RetType, 0}, 'i')
		return
	}
	seen := map[sqltypes.OID]bool{}
	types := []sqltypes.OID{f.RetType}
	for _, t := range f.ArgTypes {
		types = append(types, t.OID)
	}
	for _, t := range types {
		if t >= catalog.FirstUserOID && !seen[t] {
			seen[t] = true
			d.on(o, objectRef{classType, t, 0}, 'n')
		}
	}
	if f.Agg != nil {
		for _, p := range []sqltypes.OID{f.Agg.Trans, f.Agg.Final, f.Agg.Combine, f.Agg.Serial, f.Agg.Deserial, f.Agg.MTrans, f.Agg.MInverse, f.Agg.MFinal} {
			if p >= catalog.FirstUserOID {
				d.on(o, objectRef{classProc, p, 0}, 'n')
			}
		}
	}
}

func (d *depender) relation(r *catalog.Relation) {
	o := objectRef{classClass, r.OID, 0}
	attr := func(a int16) objectRef { return objectRef{classClass, r.OID, int(a)} }
	if byte(r.Kind) != 'c' {
		d.on(o, objectRef{classNamespace, r.Schema, 0}, 'n')
	}
	if s := r.Sequence; s != nil && s.OwnerTable != 0 {
		kind := byte('a')
		if s.Internal {
			kind = 'i'
		}
		d.on(o, objectRef{classClass, s.OwnerTable, int(s.OwnerAttr)}, kind)
	}
	for _, c := range r.Columns {
		if c.Dropped {
			continue
		}
		if c.Type.OID >= catalog.FirstUserOID {
			d.on(attr(c.Num), objectRef{classType, c.Type.OID, 0}, 'n')
		}
		if c.HasDefault {
			d.columnDefault(r, c)
		}
	}
	d.indexes(r)
	for _, fk := range r.ForeignKeys {
		k := objectRef{classConstraint, fk.OID, 0}
		for _, a := range fk.Attrs {
			d.on(k, attr(a), 'a')
		}
		for _, a := range fk.RefAttrs {
			d.on(k, objectRef{classClass, fk.RefTable, int(a)}, 'n')
		}
		d.on(k, objectRef{classClass, fk.RefIndex, 0}, 'n')
	}
	for _, c := range r.Checks {
		k := objectRef{classConstraint, c.OID, 0}
		for _, a := range c.Attrs {
			d.on(k, attr(a), 'a')
			d.on(k, attr(a), 'n') // as a column of the constraint and as one of its expression
		}
		if len(c.Attrs) == 0 {
			d.on(k, o, 'a')
		}
		if d.ctx != nil {
			if e, err := bind.CheckExpr(d.ctx, r, c.Expr); err == nil {
				d.uses(k, e)
			}
		}
	}
	d.policies(r)
	d.statistics(r)
	if r.Kind == catalog.KindView || r.Kind == catalog.KindMatView {
		d.view(r)
	}
}

func (d *depender) columnDefault(r *catalog.Relation, c *catalog.Column) {
	o, kind := objectRef{classAttrdef, attrdefOID(r, c), 0}, byte('a')
	if c.Generated != 0 {
		kind = 'i'
	}
	d.on(o, objectRef{classClass, r.OID, int(c.Num)}, kind)
	if seq := defaultSequence(d.q.Cat, c); seq != 0 {
		d.on(o, objectRef{classClass, seq, 0}, 'n')
	}
	if d.ctx == nil {
		return
	}
	if e, err := bind.DefaultExpr(d.ctx, r, c); err == nil && e != nil {
		for _, a := range d.uses(o, e) {
			if c.Generated != 0 {
				d.on(o, objectRef{classClass, r.OID, int(a)}, 'n')
			}
		}
	}
}

func (d *depender) indexes(r *catalog.Relation) {
	attr := func(a int16) objectRef { return objectRef{classClass, r.OID, int(a)} }
	for _, ix := range r.Indexes {
		o := objectRef{classClass, ix.OID, 0}
		var simple []int16
		var exprs, preds []expr.Expr
		for _, k := range ix.Keys {
			if k.Attr > 0 {
				simple = append(simple, k.Attr)
			} else if d.ctx != nil {
				if e, err := bind.RelationExpr(d.ctx, r, k.Expr); err == nil {
					exprs = append(exprs, e)
				}
			}
		}
		simple = append(simple, ix.Include...)
		if ix.Constraint != "" {
			d.on(o, objectRef{classConstraint, ix.ConstraintOID, 0}, 'i')
			for _, a := range simple {
				d.on(objectRef{classConstraint, ix.ConstraintOID, 0}, attr(a), 'a')
			}
			continue
		}
		for _, a := range simple {
			d.on(o, attr(a), 'a')
		}
		if len(simple) == 0 {
			d.on(o, objectRef{classClass, r.OID, 0}, 'a')
		}
		if ix.Predicate != "" && d.ctx != nil {
			if e, err := bind.CheckExpr(d.ctx, r, ix.Predicate); err == nil {
				preds = append(preds, e)
			}
		}
		for _, a := range append(d.uses(o, exprs...), d.uses(o, preds...)...) {
			d.on(o, attr(a), 'a')
		}
	}
}

// view emits what a view's query reads: relations, by columns, types and functions.
func (d *depender) view(r *catalog.Relation) {
	rule := objectRef{classRewrite, r.OID, 0}
	d.on(rule, objectRef{classClass, r.OID, 0}, 'i')
	d.on(rule, objectRef{classClass, r.OID, 0}, 'n')
	if q := boundView(d.ctx, r); q != nil {
		d.queryUses(rule, 0, q)
	}
}

// queryUses emits what a stored query reads; of the relation whose part it is, columns only.
func (d *depender) queryUses(rule objectRef, part sqltypes.OID, q *planner.Query) {
	seen := map[objectRef]bool{}
	on := func(o objectRef) {
		if !seen[o] {
			seen[o] = true
			d.on(rule, o, 'n')
		}
	}
	for _, p := range planner.Permissions(d.q.Cat, q) {
		switch {
		case p.CheckAs != 0: // of a view below this one
		case p.Proc != nil:
			on(objectRef{classProc, p.Proc.OID, 0})
		case len(p.Attrs) == 0 && p.Rel.OID == part:
		case len(p.Attrs) == 0:
			on(objectRef{classClass, p.Rel.OID, 0})
		default:
			for _, a := range p.Attrs {
				if a > 0 {
					on(objectRef{classClass, p.Rel.OID, int(a)})
				}
			}
		}
	}
	eachExpr(q, func(e expr.Expr) {
		switch e.(type) {
		case *expr.Const, *expr.CoerceDomain:
			if t := e.Type().OID; t >= catalog.FirstUserOID {
				on(objectRef{classType, t, 0})
			}
		}
	})
}

// eachExpr calls f with every expression of a query and of those below it, except views'.
func eachExpr(q *planner.Query, f func(expr.Expr)) {
	views := map[*planner.Query]bool{}
	for _, r := range q.Range {
		if r.ViewOID != 0 {
			views[r.Sub] = true
		}
	}
	planner.VisitQuery(q, func(e expr.Expr) {
		planner.Visit(e, func(e expr.Expr) bool {
			f(e)
			if s, ok := e.(*planner.SubLink); ok {
				eachExpr(s.Sub, f)
			}
			return true
		})
	}, func(s *planner.Query) {
		if !views[s] {
			eachExpr(s, f)
		}
	})
}

// boundView binds a view's query as its owner; nil when that fails.
func boundView(ctx *planner.Context, r *catalog.Relation) *planner.Query {
	if ctx == nil {
		return nil
	}
	st, err := parse.One(r.ViewDef)
	if err != nil {
		return nil
	}
	c := *ctx
	c.Role, c.Source, c.ParamTypes = r.Owner, "", nil
	q, _, err := bind.Bind(&c, st.AST)
	if err != nil {
		return nil
	}
	return q
}
