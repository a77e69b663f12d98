package bind

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// literal is make_const.
func (s *scope) literal(c *pg.A_Const) expr.Expr {
	b := s.b
	mk := func(oid sqltypes.OID, d sqltypes.Datum) expr.Expr {
		return &expr.Const{T: tt(b.columnType(oid)), Val: d}
	}
	if c.Isnull {
		e := &expr.Const{T: tt(b.columnType(oidUnknown)), Val: sqltypes.Null}
		s.noteLit(e, c.Location)
		return e
	}
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		s.checkNumber(c.Location)
		return mk(sqltypes.OIDInt4, sqltypes.Int(int64(v.Ival.GetIval())))
	case *pg.A_Const_Fval:
		s.checkNumber(c.Location)
		text := v.Fval.Fval
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if n >= -1<<31 && n < 1<<31 {
				return mk(sqltypes.OIDInt4, sqltypes.Int(n))
			}
			return mk(sqltypes.OIDInt8, sqltypes.Int(n))
		}
		d, err := sqltypes.TypeByOID(sqltypes.OIDNumeric).In(b.env, text, noTypMod)
		b.check(err, c.Location)
		return mk(sqltypes.OIDNumeric, d)
	case *pg.A_Const_Boolval:
		return mk(sqltypes.OIDBool, sqltypes.Bool(v.Boolval.GetBoolval()))
	case *pg.A_Const_Sval:
		e := &expr.Const{T: tt(b.columnType(oidUnknown)), Val: sqltypes.Text(v.Sval.GetSval())}
		s.noteLit(e, c.Location)
		return e
	case *pg.A_Const_Bsval:
		d, err := sqltypes.TypeByOID(sqltypes.OIDBit).In(b.env, v.Bsval.GetBsval(), noTypMod)
		b.check(err, c.Location)
		return mk(sqltypes.OIDBit, d)
	}
	// An absent value is the integer 0: it has no bytes in the tree's encoding.
	return mk(sqltypes.OIDInt4, sqltypes.Int(0))
}

func (s *scope) noteLit(e *expr.Const, loc int32) {
	if s.b.litLocs == nil {
		s.b.litLocs = map[*expr.Const]int32{}
	}
	s.b.litLocs[e] = loc
}

// checkNumber refuses what the grammar of PostgreSQL 16 reads and 15 does not:
// 0x1F, 0o17, 0b1 and 1_000.
func (s *scope) checkNumber(loc int32) {
	src := s.b.source
	if loc < 0 || int(loc) >= len(src) || s.b.quiet {
		return
	}
	i := int(loc)
	for i < len(src) && (src[i] == '-' || src[i] == '+' || src[i] == ' ') {
		i++
	}
	start := i
	for i < len(src) && src[i] >= '0' && src[i] <= '9' {
		i++
	}
	if i == start || i >= len(src) {
		return
	}
	c := src[i]
	if c == '_' || i == start+1 && src[start] == '0' && (c|0x20 == 'x' || c|0x20 == 'o' || c|0x20 == 'b') {
		for i < len(src) && (src[i] == '_' || src[i] == '$' || src[i] >= 0x80 || src[i] >= '0' && src[i] <= '9' || src[i]|0x20 >= 'a' && src[i]|0x20 <= 'z') {
			i++
		}
		s.b.fail(int32(start), pgerror.SyntaxError, `trailing junk after numeric literal at or near "%s"`, src[start:i])
	}
}

func (s *scope) nullConst(oid sqltypes.OID) *expr.Const {
	return &expr.Const{T: tt(s.b.columnType(oid)), Val: sqltypes.Null}
}

func (s *scope) intConst(n int64) *expr.Const {
	return &expr.Const{T: tt(s.b.columnType(sqltypes.OIDInt4)), Val: sqltypes.Int(n)}
}

func isNullConst(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val.Null
}
