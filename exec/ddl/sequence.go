package ddl

import (
	"math"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// newSequence is the definition of an ascending sequence with default options.
func newSequence(t sqltypes.OID) catalog.Sequence {
	_, hi := typeRange(t)
	return catalog.Sequence{Type: t, Start: 1, Increment: 1, Min: 1, Max: hi, Cache: 1}
}

func typeRange(t sqltypes.OID) (lo, hi int64) {
	switch t {
	case sqltypes.OIDInt2:
		return math.MinInt16, math.MaxInt16
	case sqltypes.OIDInt4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (r *run) createSequence(n *pg.CreateSeqStmt) error {
	schema, err := r.creationSchema(n.Sequence.Schemaname, n.Sequence.Relpersistence == "t")
	if err != nil {
		return err
	}
	name := truncateIdent(n.Sequence.Relname)
	if err := r.mustBeFree(schema, name); err != nil {
		if n.IfNotExists && pgerror.Is(err, pgerror.DuplicateTable) {
			r.s.Notice("NOTICE", pgerror.DuplicateTable, sprintf("relation %q already exists, skipping", name))
			return nil
		}
		return err
	}
	def := newSequence(sqltypes.OIDInt8)
	if err := r.sequenceOptions(&def, &catalog.Relation{Schema: schema.OID, Owner: r.role()}, n.Options, nil); err != nil {
		return err
	}
	return r.putSequence(0, schema, name, &def, n.Sequence.Relpersistence == "t")
}

// putSequence makes the sequence relation of a definition; oid 0 takes a new one.
func (r *run) putSequence(oid sqltypes.OID, schema *catalog.Schema, name string, def *catalog.Sequence, temp bool) error {
	var err error
	if oid == 0 {
		if oid, err = r.newOID(); err != nil {
			return err
		}
	}
	if def.StorageID, err = r.schema().NewStorageID(r.ctx); err != nil {
		return err
	}
	rel := &catalog.Relation{OID: oid, Name: name, Schema: schema.OID, Kind: catalog.KindSequence, Persistence: 'p',
		Owner: r.role(), ACL: r.newACL('S', schema.OID), Sequence: def, Columns: sequenceColumns()}
	if temp {
		rel.Persistence = 't'
	}
	r.schema().PutRelation(rel)
	return r.txn.SetVal(r.ctx, rel, def.Start, false)
}

// sequenceColumns are what SELECT * FROM a sequence shows.
func sequenceColumns() []*catalog.Column {
	col := func(n int16, name string, t sqltypes.OID) *catalog.Column {
		return &catalog.Column{Num: n, Name: name, NotNull: true, Type: sqltypes.ColumnType{OID: t, TypMod: -1}}
	}
	return []*catalog.Column{col(1, "last_value", sqltypes.OIDInt8), col(2, "log_cnt", sqltypes.OIDInt8), col(3, "is_called", sqltypes.OIDBool)}
}

// sequenceOptions applies CREATE/ALTER SEQUENCE options to def; name receives SEQUENCE NAME.
func (r *run) sequenceOptions(def *catalog.Sequence, seq *catalog.Relation, opts []*pg.Node, name *string) error {
	get := map[string]*pg.DefElem{}
	for _, n := range opts {
		d := n.GetDefElem()
		if get[d.Defname] != nil {
			return pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
		}
		get[d.Defname] = d
	}
	oldType, oldLo, oldHi := def.Type, int64(0), int64(0)
	oldLo, oldHi = typeRange(oldType)
	if d := get["as"]; d != nil {
		t, err := bind.BindTypeName(r.s.PlanContext(), d.Arg.GetTypeName())
		if err != nil {
			return err
		}
		switch t.OID {
		case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8:
		default:
			return pgerror.New(pgerror.InvalidParameterValue, "sequence type must be smallint, integer, or bigint")
		}
		def.Type = t.OID
	}
	isInit := def.StorageID == 0
	if d := get["increment"]; d != nil {
		v, err := defInt(d)
		if err != nil {
			return err
		}
		if v == 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "INCREMENT must not be zero")
		}
		def.Increment = v
	}
	lo, hi := typeRange(def.Type)
	ascending := def.Increment > 0
	// A bound that was the old type's follows the type.
	resetMax, resetMin := !isInit && def.Type != oldType && def.Max == oldHi, !isInit && def.Type != oldType && def.Min == oldLo
	var err error
	if def.Max, err = bound(get["maxvalue"], def.Max, isInit || resetMax, pick(ascending || resetMax, hi, -1)); err != nil {
		return err
	}
	if def.Min, err = bound(get["minvalue"], def.Min, isInit || resetMin, pick(ascending && !resetMin, 1, lo)); err != nil {
		return err
	}
	if def.Max > hi || def.Max < lo {
		return pgerror.New(pgerror.InvalidParameterValue, "MAXVALUE (%d) is out of range for sequence data type %s", def.Max, sqltypes.FormatType(def.Type, -1))
	}
	if def.Min > hi || def.Min < lo {
		return pgerror.New(pgerror.InvalidParameterValue, "MINVALUE (%d) is out of range for sequence data type %s", def.Min, sqltypes.FormatType(def.Type, -1))
	}
	if def.Min >= def.Max {
		return pgerror.New(pgerror.InvalidParameterValue, "MINVALUE (%d) must be less than MAXVALUE (%d)", def.Min, def.Max)
	}
	if d := get["start"]; d != nil {
		v, err := defInt(d)
		if err != nil {
			return err
		}
		def.Start = v
	} else if isInit {
		def.Start = pick(ascending, def.Min, def.Max)
	}
	if def.Start < def.Min {
		return pgerror.New(pgerror.InvalidParameterValue, "START value (%d) cannot be less than MINVALUE (%d)", def.Start, def.Min)
	}
	if def.Start > def.Max {
		return pgerror.New(pgerror.InvalidParameterValue, "START value (%d) cannot be greater than MAXVALUE (%d)", def.Start, def.Max)
	}
	if d := get["cycle"]; d != nil {
		def.Cycle = defBool(d)
	}
	if d := get["cache"]; d != nil {
		v, err := defInt(d)
		if err != nil {
			return err
		}
		if v <= 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "CACHE (%d) must be greater than zero", v)
		}
		def.Cache = v
	}
	if d := get["sequence_name"]; d != nil && name != nil {
		parts := nameParts(d.Arg)
		*name = parts[len(parts)-1]
	}
	if d := get["owned_by"]; d != nil {
		return r.sequenceOwner(def, seq, nameParts(d.Arg))
	}
	return nil
}

func pick(cond bool, a, b int64) int64 {
	if cond {
		return a
	}
	return b
}

// bound applies MINVALUE/MAXVALUE (NO … has no argument).
func bound(d *pg.DefElem, current int64, reset bool, def int64) (int64, error) {
	if d != nil && d.Arg != nil {
		v, err := strconv.ParseInt(defText(d), 10, 64)
		if err != nil {
			return 0, pgerror.New(pgerror.NumericValueOutOfRange, "value %q is out of range for type bigint", defText(d))
		}
		return v, nil
	}
	if d != nil || reset {
		return def, nil
	}
	return current, nil
}

// sequenceOwner is OWNED BY; seq is the sequence that def is of, nil for a column's own.
func (r *run) sequenceOwner(def *catalog.Sequence, seq *catalog.Relation, parts []string) error {
	if def.Internal {
		return pgerror.New(pgerror.FeatureNotSupported, "cannot change ownership of identity sequence")
	}
	if len(parts) == 1 && parts[0] == "none" {
		def.OwnerTable, def.OwnerAttr = 0, 0
		return nil
	}
	if len(parts) < 2 {
		return pgerror.New(pgerror.SyntaxError, "invalid OWNED BY option").WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
	}
	schema, name, err := split(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	rel, ix, err := r.findRelation(schema, name)
	if err != nil {
		return err
	}
	if rel == nil {
		return noRelation(schema, name)
	}
	if ix != nil || rel.Kind == catalog.KindSequence || rel.Kind == catalog.KindMatView || rel.Kind == catalog.KindComposite {
		return pgerror.New(pgerror.WrongObjectType, "sequence cannot be owned by relation %q", name)
	}
	if seq != nil {
		switch {
		case rel.Owner != seq.Owner:
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "sequence must have same owner as table it is linked to")
		case rel.Schema != seq.Schema:
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
		}
	}
	col := columnByName(rel, parts[len(parts)-1])
	if col == nil {
		return noColumn(rel, parts[len(parts)-1])
	}
	def.OwnerTable, def.OwnerAttr = rel.OID, col.Num
	return nil
}

// ownSequence makes the sequence of a serial or identity column.
func (b *builder) ownSequence(s *serial) error {
	name := s.name
	if name == "" {
		name = b.freeRelationName(b.rel.Schema, b.rel.Name, s.col.Name, "seq", func(n string) bool { return n == b.rel.Name })
	}
	s.def.OwnerTable, s.def.OwnerAttr = b.rel.OID, s.col.Num
	if err := b.putSequence(s.oid, b.catalog().Schema(b.rel.Schema), name, s.def, b.rel.Persistence == 't'); err != nil {
		return err
	}
	seq := b.catalog().RelationByName(b.rel.Schema, name)
	s.col.OwnedSequence = seq.OID
	if s.col.Identity == 0 {
		// By OID, so that renaming the sequence does not break the default.
		s.col.HasDefault, s.col.Default = true, "nextval("+strconv.FormatUint(uint64(seq.OID), 10)+"::oid::regclass)"
	}
	return nil
}

func (r *run) alterSequence(n *pg.AlterSeqStmt) error {
	rel, _, err := r.findRelation(n.Sequence.Schemaname, n.Sequence.Relname)
	if err != nil {
		return err
	}
	if rel == nil && n.MissingOk {
		r.s.Notice("NOTICE", pgerror.UndefinedTable, sprintf("relation %q does not exist, skipping", n.Sequence.Relname))
		return nil
	}
	rel, err = r.relation(n.Sequence, engine.ShareRowExclusive, "S", "sequence")
	if err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	return r.changeSequence(rel, n.Options)
}

// changeSequence applies options, RESTART included, to an existing sequence.
func (r *run) changeSequence(rel *catalog.Relation, opts []*pg.Node) error {
	cp := copyRelation(rel)
	var restart *pg.DefElem
	var rest []*pg.Node
	for _, n := range opts {
		if d := n.GetDefElem(); d.Defname == "restart" {
			restart = d
		} else {
			rest = append(rest, n)
		}
	}
	if err := r.sequenceOptions(cp.Sequence, cp, rest, nil); err != nil {
		return err
	}
	value := cp.Sequence.Start
	if restart != nil && restart.Arg != nil {
		v, err := defInt(restart)
		if err != nil {
			return err
		}
		value = v
	}
	if restart == nil {
		last, called, err := r.txn.SequenceState(rel)
		if err != nil {
			return err
		}
		if last < cp.Sequence.Min {
			return pgerror.New(pgerror.InvalidParameterValue, "RESTART value (%d) cannot be less than MINVALUE (%d)", last, cp.Sequence.Min)
		}
		if last > cp.Sequence.Max {
			return pgerror.New(pgerror.InvalidParameterValue, "RESTART value (%d) cannot be greater than MAXVALUE (%d)", last, cp.Sequence.Max)
		}
		r.schema().PutRelation(cp)
		_ = called
		return nil
	}
	if value < cp.Sequence.Min || value > cp.Sequence.Max {
		word, b := "less than MINVALUE", cp.Sequence.Min
		if value > cp.Sequence.Max {
			word, b = "greater than MAXVALUE", cp.Sequence.Max
		}
		return pgerror.New(pgerror.InvalidParameterValue, "RESTART value (%d) cannot be %s (%d)", value, word, b)
	}
	return r.restartSequence(cp, value)
}

// restartSequence gives the sequence fresh storage that starts at value, so that
// the change is transactional although advancing is not.
func (r *run) restartSequence(rel *catalog.Relation, value int64) error {
	var err error
	if rel.Sequence.StorageID, err = r.schema().NewStorageID(r.ctx); err != nil {
		return err
	}
	r.schema().PutRelation(rel)
	return r.txn.SetVal(r.ctx, rel, value, false)
}
