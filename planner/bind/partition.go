package bind

import (
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// PartitionExpr binds an expression of a partition key over a table's row.
func PartitionExpr(ctx *planner.Context, rel *catalog.Relation, text string) (e expr.Expr, err error) {
	defer catch(&err)
	return newBinder(ctx).relationExpr(rel, text, kindPartitionExpression), nil
}

// BoundValue evaluates a value of a partition bound for a key of the type; name is
// the key's, for messages (transformPartitionBoundValue).
func BoundValue(ctx *planner.Context, n *pg.Node, typ sqltypes.ColumnType, name string) (d sqltypes.Datum, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	s := b.newScope(nil)
	eachMessage(n.ProtoReflect(), func(m proto.Message) {
		if c, ok := m.(*pg.ColumnRef); ok {
			b.fail(c.Location, pgerror.FeatureNotSupported, "cannot use column reference in partition bound expression")
		}
	})
	e := s.exprKindOf(n, kindPartitionBound)
	r := s.coerceToTarget(e, typ.OID, typ.TypMod, assignment, -1)
	if r == nil {
		b.fail(exprLoc(n), pgerror.DatatypeMismatch, `specified value cannot be cast to type %s for column "%s"`, b.typeName(typ.OID), name)
	}
	p, err := expr.Compile(r, ctx.Catalog.Type)
	if err != nil {
		return d, err
	}
	return p.Row(nil, &expr.Params{}, ctx.Env)
}

// Location is where an expression begins in the statement, -1 if that is not known.
func Location(n *pg.Node) int32 { return exprLoc(n) }

// WithPosition gives an error the place in a statement's text that a byte offset is at.
func WithPosition(e *pgerror.Error, source string, loc int32) *pgerror.Error {
	if int(loc) > len(source) {
		return e
	}
	return e.At(utf8.RuneCountInString(source[:loc]) + 1)
}
