package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Bits of WindowDef.FrameOptions (PostgreSQL's FRAMEOPTION_*).
const (
	frameNonDefault              = 0x00001
	frameRange                   = 0x00002
	frameRows                    = 0x00004
	frameGroups                  = 0x00008
	frameStartUnboundedPreceding = 0x00020
	frameEndUnboundedPreceding   = 0x00040
	frameStartUnboundedFollowing = 0x00080
	frameEndUnboundedFollowing   = 0x00100
	frameStartCurrentRow         = 0x00200
	frameEndCurrentRow           = 0x00400
	frameStartOffsetPreceding    = 0x00800
	frameEndOffsetPreceding      = 0x01000
	frameStartOffsetFollowing    = 0x02000
	frameEndOffsetFollowing      = 0x04000
	frameExcludeCurrentRow       = 0x08000
	frameExcludeGroup            = 0x10000
	frameExcludeTies             = 0x20000
	frameDefaults                = frameRange | frameStartUnboundedPreceding | frameEndCurrentRow
)

// windowFunc is transformWindowFuncCall.
func (s *scope) windowFunc(w *expr.Window, fc *pg.FuncCall, name []*pg.Node, kind funcKind, loc int32) expr.Expr {
	b := s.b
	if s.hasWindow {
		for i, a := range w.Args {
			if hasWindow(a) {
				b.fail(firstFuncLocList([]*pg.Node{nodeAt(fc.Args, i)}, loc), pgerror.WindowingError, "window function calls cannot be nested")
			}
		}
	}
	if !s.kind.allowsWindows() {
		b.fail(loc, pgerror.WindowingError, "window functions are not allowed in %s", s.kind.windowPlace())
	}
	for i, a := range w.Args {
		if s.hasSRF && returnsSet(a) {
			panic(b.errAt(exprLoc(nodeAt(fc.Args, i)), pgerror.FeatureNotSupported, "window function calls cannot contain set-returning function calls").
				WithHint("You might be able to move the set-returning function into a LATERAL FROM item."))
		}
	}
	if fc.AggFilter != nil {
		w.Filter = s.whereClause(fc.AggFilter, kindFilter, "FILTER")
	}
	w.Star = fc.AggStar
	s.hasWindow = true
	def := fc.Over
	if def.Name != "" {
		for i, d := range s.windowDefs {
			if d.Name == def.Name {
				w.Def = i
				return w
			}
		}
		b.fail(def.Location, pgerror.UndefinedObject, `window "%s" does not exist`, def.Name)
	}
	for i, d := range s.windowDefs {
		if d.Name == "" && sameWindow(d, def) {
			w.Def = i
			return w
		}
	}
	s.windowDefs = append(s.windowDefs, def)
	w.Def = len(s.windowDefs) - 1
	return w
}

func sameWindow(a, b *pg.WindowDef) bool {
	x, y := proto.Clone(a).(*pg.WindowDef), proto.Clone(b).(*pg.WindowDef)
	x.Location, y.Location = 0, 0
	clearLocations(x.ProtoReflect())
	clearLocations(y.ProtoReflect())
	return proto.Equal(x, y)
}

// windowClause is transformWindowDefinitions.
func (s *scope) windowClause(tl *targetBuilder) {
	b, q := s.b, s.q
	for i := 0; i < len(s.windowDefs); i++ {
		def := s.windowDefs[i]
		if def.Name != "" {
			for _, d := range s.windowDefs[:i] {
				if d.Name == def.Name {
					b.fail(def.Location, pgerror.WindowingError, `window "%s" is already defined`, def.Name)
				}
			}
		}
		var ref *planner.WindowDef
		var refDef *pg.WindowDef
		if def.Refname != "" {
			for k, d := range s.windowDefs[:i] {
				if d.Name == def.Refname {
					ref, refDef = &q.Windows[k], d
				}
			}
			if ref == nil {
				b.fail(def.Location, pgerror.UndefinedObject, `window "%s" does not exist`, def.Refname)
			}
		}
		order := s.sortClause(def.OrderClause, tl, kindWindowOrder, true)
		var part []int
		for _, n := range def.PartitionClause {
			k := tl.find99(n, kindWindowPartition)
			tl.fixUnknown(k)
			b.sortOperators(typeOf(tl.list[k].Expr), false, exprLoc(n))
			if !contains(part, k) {
				part = append(part, k)
			}
		}
		w := planner.WindowDef{Name: def.Name, PartitionBy: part, OrderBy: order}
		if ref != nil {
			if len(def.PartitionClause) > 0 {
				b.fail(def.Location, pgerror.WindowingError, `cannot override PARTITION BY clause of window "%s"`, def.Refname)
			}
			w.PartitionBy = ref.PartitionBy
			if len(def.OrderClause) > 0 && len(ref.OrderBy) > 0 {
				b.fail(def.Location, pgerror.WindowingError, `cannot override ORDER BY clause of window "%s"`, def.Refname)
			}
			if len(ref.OrderBy) > 0 {
				w.OrderBy = ref.OrderBy
			}
			if refDef.FrameOptions&^frameDefaults&^frameNonDefault != 0 || refDef.FrameOptions&frameNonDefault != 0 {
				if def.Name != "" || len(def.OrderClause) > 0 || def.FrameOptions&frameNonDefault != 0 {
					b.fail(def.Location, pgerror.WindowingError, `cannot copy window "%s" because it has a frame clause`, def.Refname)
				}
				panic(b.errAt(def.Location, pgerror.WindowingError, `cannot copy window "%s" because it has a frame clause`, def.Refname).
					WithHint("Omit the parentheses in this OVER clause."))
			}
		}
		w.Frame = s.frame(def, &w, tl)
		q.Windows = append(q.Windows, w)
	}
}

// frame binds a frame clause.
func (s *scope) frame(def *pg.WindowDef, w *planner.WindowDef, tl *targetBuilder) planner.Frame {
	b := s.b
	o := def.FrameOptions
	f := planner.Frame{Mode: 'R'}
	kind, construct := kindWindowRange, "RANGE"
	switch {
	case o&frameRows != 0:
		f.Mode, kind, construct = 'W', kindWindowRows, "ROWS"
	case o&frameGroups != 0:
		f.Mode, kind, construct = 'G', kindWindowGroups, "GROUPS"
	}
	bound := func(unbPre, pre, cur, fol, unbFol int32, n *pg.Node) planner.FrameBound {
		switch {
		case o&unbPre != 0:
			return planner.FrameBound{Kind: 'u'}
		case o&pre != 0:
			return planner.FrameBound{Kind: 'p', Offset: s.frameOffset(n, kind, construct, w, tl, &f, def.Location)}
		case o&fol != 0:
			return planner.FrameBound{Kind: 'f', Offset: s.frameOffset(n, kind, construct, w, tl, &f, def.Location)}
		case o&unbFol != 0:
			return planner.FrameBound{Kind: 'U'}
		}
		return planner.FrameBound{Kind: 'c'}
	}
	if f.Mode == 'G' && len(w.OrderBy) == 0 {
		b.fail(def.Location, pgerror.WindowingError, "GROUPS mode requires an ORDER BY clause")
	}
	f.Start = bound(frameStartUnboundedPreceding, frameStartOffsetPreceding, frameStartCurrentRow, frameStartOffsetFollowing, frameStartUnboundedFollowing, def.StartOffset)
	f.End = bound(frameEndUnboundedPreceding, frameEndOffsetPreceding, frameEndCurrentRow, frameEndOffsetFollowing, frameEndUnboundedFollowing, def.EndOffset)
	switch {
	case o&frameExcludeCurrentRow != 0:
		f.Exclude = 'c'
	case o&frameExcludeGroup != 0:
		f.Exclude = 'g'
	case o&frameExcludeTies != 0:
		f.Exclude = 't'
	}
	if f.Mode == 'R' && (def.StartOffset != nil || def.EndOffset != nil) && len(w.OrderBy) != 1 {
		b.fail(def.Location, pgerror.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	return f
}

// frameOffset is transformFrameOffset.
func (s *scope) frameOffset(n *pg.Node, k exprKind, construct string, w *planner.WindowDef, tl *targetBuilder, f *planner.Frame, loc int32) expr.Expr {
	b := s.b
	e := s.exprKindOf(n, k)
	if k != kindWindowRange {
		e = s.coerceSpecific(e, n, sqltypes.OIDInt8, construct)
		s.refuseVars(e, n, construct)
		return e
	}
	if len(w.OrderBy) != 1 {
		b.fail(loc, pgerror.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	ot := b.baseType(typeOf(tl.list[w.OrderBy[0].Target].Expr))
	class := sqltypes.DefaultOpClass(sqltypes.AMBtree, ot)
	// in_range functions of the order's family tell which offsets are possible.
	best := sqltypes.OID(0)
	n1, n2 := 0, 0
	if class != nil {
		for _, a := range sqltypes.AllAmProcs() {
			if a.Family != class.Family || a.Num != 3 || a.Left != class.InType {
				continue
			}
			n1++
			if a.Right == typeOf(e) {
				best = a.Right
				n2 = 1
				break
			}
			if isUnknownExpr(e) && a.Right == ot || !isUnknownExpr(e) && b.canCoerce1(typeOf(e), a.Right, implicit) {
				n2++
				best = a.Right
			}
		}
	}
	colType := ot
	if class != nil {
		colType = class.InType
	}
	switch {
	case n1 == 0:
		panic(b.errAt(exprLoc(n), pgerror.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", b.typeName(colType)))
	case n2 == 0 && isUnknownExpr(e):
		// A literal beside a date or time is an interval.
		for _, a := range sqltypes.AllAmProcs() {
			if a.Family == class.Family && a.Num == 3 && a.Left == class.InType {
				best = a.Right
			}
		}
	case n2 == 0:
		panic(b.errAt(exprLoc(n), pgerror.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s", b.typeName(colType), b.typeName(typeOf(e))).
			WithHint("Cast the offset value to an appropriate type."))
	case n2 > 1:
		panic(b.errAt(exprLoc(n), pgerror.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for column type %s and offset type %s", b.typeName(colType), b.typeName(typeOf(e))).
			WithHint("Cast the offset value to the exact intended type."))
	}
	f.InRange = sqltypes.FamilyProc(class.Family, class.InType, best, 3)
	e = s.coerceSpecific(e, n, best, construct)
	s.refuseVars(e, n, construct)
	return e
}
