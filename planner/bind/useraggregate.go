package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// AggregateFunctions are the names in CREATE AGGREGATE; nil: not given.
type AggregateFunctions struct {
	Trans, Final, Combine, Serial, Deserial []*pg.Node
	MTrans, MInverse, MFinal                []*pg.Node
}

// ResolveAggregate finds the functions that an aggregate is made of and its result
// type (AggregateCreate). f has its arguments and f.Agg.TransType.
func ResolveAggregate(ctx *planner.Context, f *catalog.Function, names AggregateFunctions) (err error) {
	defer catch(&err)
	b := newBinder(ctx)
	agg := f.Agg
	state := agg.TransType.OID
	var args []sqltypes.OID
	poly := false
	for _, a := range f.ArgTypes {
		args = append(args, a.OID)
		poly = poly || isPoly(a.OID)
	}
	if isPoly(state) && !poly {
		panic(pgerror.New(pgerror.InvalidFunctionDefinition, "cannot determine transition data type").
			WithDetail("A result of type %s requires at least one input of type %s.", b.typeName(state), b.typeName(state)))
	}
	if t := b.typ(state); t == nil || t.TypType == 'p' && !isPoly(state) && state != sqltypes.OIDInternal {
		b.fail(-1, pgerror.InvalidFunctionDefinition, "aggregate transition data type cannot be %s", b.typeName(state))
	}
	trans := b.aggregateFunction(names.Trans, append([]sqltypes.OID{state}, args...))
	if !isPoly(trans.ret) && trans.ret != state {
		b.fail(-1, pgerror.DatatypeMismatch, "return type of transition function %s is not %s", fieldsString(names.Trans), b.typeName(state))
	}
	if trans.proc.Strict && agg.InitVal == nil {
		if len(args) < 1 || !b.binaryCoercible(args[0], state) {
			b.fail(-1, pgerror.InvalidFunctionDefinition, "must not omit initial value when transition function is strict and transition type is not compatible with input type")
		}
	}
	agg.Trans = trans.proc.OID
	f.RetType = state
	if names.Final != nil {
		in := []sqltypes.OID{state}
		if agg.FinalExtra {
			in = append(in, args...)
		}
		final := b.aggregateFunction(names.Final, in)
		if agg.FinalExtra && final.proc.Strict {
			b.fail(-1, pgerror.InvalidFunctionDefinition, "final function with extra arguments must not be declared STRICT")
		}
		agg.Final, f.RetType = final.proc.OID, final.ret
	}
	if names.Combine != nil {
		c := b.aggregateFunction(names.Combine, []sqltypes.OID{state, state})
		if c.ret != state && !isPoly(c.ret) {
			b.fail(-1, pgerror.DatatypeMismatch, "return type of combine function %s is not %s", fieldsString(names.Combine), b.typeName(state))
		}
		agg.Combine = c.proc.OID
	}
	if names.Serial != nil {
		b.serialFunctions(agg, names)
	}
	if names.MTrans != nil {
		b.movingFunctions(f, names, args)
	}
	if isPoly(f.RetType) && !poly {
		panic(pgerror.New(pgerror.DatatypeMismatch, "cannot determine result data type").
			WithDetail("A result of type %s requires at least one input of type %s.", b.typeName(f.RetType), b.typeName(f.RetType)))
	}
	if agg.InitVal != nil && !isPoly(state) && state != sqltypes.OIDInternal {
		if t := b.typ(state); t.In != nil {
			if _, err := t.In(b.env, *agg.InitVal, noTypMod); err != nil {
				return err
			}
		}
	}
	return nil
}

// serialFunctions finds what turns an internal state into bytes and back.
func (b *binder) serialFunctions(agg *catalog.AggregateDef, names AggregateFunctions) {
	s := b.aggregateFunction(names.Serial, []sqltypes.OID{sqltypes.OIDInternal})
	if s.ret != sqltypes.OIDBytea {
		b.fail(-1, pgerror.DatatypeMismatch, "return type of serialization function %s is not bytea", fieldsString(names.Serial))
	}
	d := b.aggregateFunction(names.Deserial, []sqltypes.OID{sqltypes.OIDBytea, sqltypes.OIDInternal})
	if d.ret != sqltypes.OIDInternal {
		b.fail(-1, pgerror.DatatypeMismatch, "return type of deserialization function %s is not internal", fieldsString(names.Deserial))
	}
	agg.Serial, agg.Deserial = s.proc.OID, d.proc.OID
}

// movingFunctions finds the functions of the moving-aggregate mode.
func (b *binder) movingFunctions(f *catalog.Function, names AggregateFunctions, args []sqltypes.OID) {
	agg := f.Agg
	state := agg.MTransType
	in := append([]sqltypes.OID{state}, args...)
	forward := b.aggregateFunction(names.MTrans, in)
	if !isPoly(forward.ret) && forward.ret != state {
		b.fail(-1, pgerror.DatatypeMismatch, "return type of transition function %s is not %s", fieldsString(names.MTrans), b.typeName(state))
	}
	inverse := b.aggregateFunction(names.MInverse, in)
	if !isPoly(inverse.ret) && inverse.ret != state {
		b.fail(-1, pgerror.DatatypeMismatch, "return type of inverse transition function %s is not %s", fieldsString(names.MInverse), b.typeName(state))
	}
	if forward.proc.Strict && agg.MInitVal == nil && (len(args) < 1 || !b.binaryCoercible(args[0], state)) {
		b.fail(-1, pgerror.InvalidFunctionDefinition, "must not omit initial value when transition function is strict and transition type is not compatible with input type")
	}
	if forward.proc.Strict != inverse.proc.Strict {
		b.fail(-1, pgerror.InvalidFunctionDefinition, "strictness of aggregate's forward and inverse transition functions must match")
	}
	agg.MTrans, agg.MInverse = forward.proc.OID, inverse.proc.OID
	result := state
	if names.MFinal != nil {
		fin := []sqltypes.OID{state}
		if agg.MFinalExtra {
			fin = append(fin, args...)
		}
		final := b.aggregateFunction(names.MFinal, fin)
		if agg.MFinalExtra && final.proc.Strict {
			b.fail(-1, pgerror.InvalidFunctionDefinition, "final function with extra arguments must not be declared STRICT")
		}
		agg.MFinal, result = final.proc.OID, final.ret
	}
	if result != f.RetType {
		b.fail(-1, pgerror.InvalidFunctionDefinition, "moving-aggregate implementation returns type %s, but plain implementation returns type %s",
			b.typeName(result), b.typeName(f.RetType))
	}
}

// resolved is a function that fits, with its result type for these arguments.
type resolved struct {
	proc *sqltypes.Proc
	ret  sqltypes.OID
}

// aggregateFunction is lookup_agg_function.
func (b *binder) aggregateFunction(name []*pg.Node, types []sqltypes.OID) resolved {
	kind, c := b.funcDetail(name, types, argInfo{}, nil, false, false, -1)
	if kind != funcNormal {
		b.fail(-1, pgerror.UndefinedFunction, "function %s does not exist", b.funcSignature(name, nil, types))
	}
	if c.proc.RetSet {
		b.fail(-1, pgerror.DatatypeMismatch, "function %s returns a set", b.funcSignature(name, nil, types))
	}
	for i, t := range types {
		if d := c.args[i]; !isPoly(d) && d != sqltypes.OIDAny && !isPoly(t) && !b.binaryCoercible(t, d) {
			b.fail(-1, pgerror.DatatypeMismatch, "function %s requires run-time type coercion", b.funcSignature(name, nil, types))
		}
	}
	ret := c.proc.RetType
	if isPoly(ret) {
		polyIn := false
		for _, t := range types {
			polyIn = polyIn || isPoly(t)
		}
		if !polyIn {
			ret = b.resolveGeneric(types, append([]sqltypes.OID(nil), c.args...), ret)
		}
	}
	return resolved{c.proc, ret}
}

// BinaryCoercible reports whether a value of src is one of dst as it is.
func BinaryCoercible(ctx *planner.Context, src, dst sqltypes.OID) bool {
	return newBinder(ctx).binaryCoercible(src, dst)
}

func (b *binder) binaryCoercible(src, dst sqltypes.OID) bool {
	if src == dst || dst == sqltypes.OIDAny {
		return true
	}
	k, _ := b.pathway(dst, src, implicit)
	return k == pathRelabel
}

// userAggregate is the behaviour of an aggregate that a user has made.
func (b *binder) userAggregate(def *catalog.AggregateDef) *sqltypes.Aggregate {
	a := &sqltypes.Aggregate{}
	d := &aggregateOf{def: def, trans: b.procByOID(def.Trans)}
	if def.Final != 0 {
		d.final = b.procByOID(def.Final)
	}
	if d.trans == nil || d.trans.Fn == nil || def.Final != 0 && (d.final == nil || d.final.Fn == nil) {
		return a // refused by name when it is called
	}
	a.New = d.newState
	return a
}

type aggregateOf struct {
	def          *catalog.AggregateDef
	trans, final *sqltypes.Proc
}

// userState is the state of one group.
type userState struct {
	*aggregateOf
	value sqltypes.Datum
	fresh bool // no value yet: the first input becomes it (strict transition, no initial value)
	err   error
	step  sqltypes.Call
	buf   []sqltypes.Datum
}

func (d *aggregateOf) newState(c *sqltypes.Call) sqltypes.AggState {
	s := &userState{aggregateOf: d, value: sqltypes.Null, fresh: true}
	state := d.stateType(c)
	if d.def.InitVal != nil {
		s.fresh = false
		if t := sqltypes.LookupType(c.Env, state.OID); t != nil && t.In != nil {
			s.value, s.err = t.In(c.Env, *d.def.InitVal, -1)
		} else {
			s.err = pgerror.NotSupported("initial values of type %d", state.OID)
		}
	}
	s.step = sqltypes.Call{Env: c.Env, Proc: d.trans, ArgTypes: append([]sqltypes.ColumnType{state}, c.ArgTypes...), RetType: state, Collation: c.Collation}
	return s
}

// stateType is the transition type, for a polymorphic one as the arguments say.
func (d *aggregateOf) stateType(c *sqltypes.Call) sqltypes.ColumnType {
	t := d.def.TransType
	if !isPoly(t.OID) {
		return t
	}
	if d.final == nil || d.final.RetType == t.OID {
		return c.RetType
	}
	for i, a := range c.ArgTypes {
		if i < len(c.Proc.ArgTypes) && c.Proc.ArgTypes[i] == t.OID {
			return a
		}
	}
	if len(c.ArgTypes) > 0 {
		if at := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID); at != nil {
			switch t.OID {
			case sqltypes.OIDAnyarray, sqltypes.OIDAnycompatiblearray:
				return sqltypes.ColumnType{OID: at.Array, TypMod: noTypMod}
			default:
				if at.Elem != 0 && (c.Proc.ArgTypes[0] == sqltypes.OIDAnyarray || c.Proc.ArgTypes[0] == sqltypes.OIDAnycompatiblearray) {
					return sqltypes.ColumnType{OID: at.Elem, TypMod: noTypMod}
				}
			}
		}
	}
	return t
}

// Step implements sqltypes.AggState (advance_transition_function).
func (s *userState) Step(c *sqltypes.Call, args []sqltypes.Datum) error {
	if s.err != nil {
		return s.err
	}
	if s.trans.Strict {
		for _, a := range args {
			if a.Null {
				return nil
			}
		}
		if s.fresh {
			s.fresh = false
			if len(args) > 0 {
				s.value = own(args[0])
				return nil
			}
		}
		if s.value.Null {
			return nil
		}
	}
	s.fresh = false
	s.buf = append(append(s.buf[:0], s.value), args...)
	s.step.Env = c.Env
	v, err := s.trans.Fn(&s.step, s.buf)
	s.value = own(v)
	return err
}

// own copies what a value shares with its source.
func own(d sqltypes.Datum) sqltypes.Datum {
	d.S = strings.Clone(d.S)
	return d
}

// Final implements sqltypes.AggState.
func (s *userState) Final(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if s.err != nil || s.final == nil {
		return s.value, s.err
	}
	if s.final.Strict && s.value.Null {
		return sqltypes.Null, nil
	}
	call := sqltypes.Call{Env: c.Env, Proc: s.final, ArgTypes: s.step.ArgTypes[:1], RetType: c.RetType, Collation: c.Collation}
	args := []sqltypes.Datum{s.value}
	if s.def.FinalExtra {
		call.ArgTypes = s.step.ArgTypes
		for len(args) < len(call.ArgTypes) {
			args = append(args, sqltypes.Null)
		}
	}
	return s.final.Fn(&call, args)
}
