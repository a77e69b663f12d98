// Package parse turns SQL text into classified statements: pg_query's PostgreSQL
// grammar, PostgreSQL's error texts and positions, command tags, and the
// decision where a statement may run.
//
// Nothing here binds names. Classify looks only at the syntax tree and at what
// Lookups tells about the functions, relations and prepared statements that the
// tree names; names are looked up by spelling, so a doubtful case (an overload
// that writes beside one that does not) counts as a write.
//
// Safe for concurrent use.
package parse

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/proto"

	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// maxTreeDepth is the nesting of messages that decoding a tree accepts. The
// guard in depth.go keeps real trees below it.
const maxTreeDepth = 60000

// Parse parses a query string. Each statement has its text without surrounding
// blanks and semicolon, and its place in sql; syntax tree locations are byte
// offsets into the whole of sql. Classes are not filled in (see Classify), tags are.
// Errors are *pgerror.Error with the 1-based character position.
func Parse(sql string) ([]*planner.Statement, error) {
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, pgerror.New(pgerror.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	if tooDeep(sql) {
		return nil, stackDepth()
	}
	raw, err := parser.ParseToProtobuf(sql)
	if err != nil {
		return nil, syntaxError(sql, err)
	}
	var tree pg.ParseResult
	if err := (proto.UnmarshalOptions{RecursionLimit: maxTreeDepth, DiscardUnknown: true}).Unmarshal(raw, &tree); err != nil {
		return nil, stackDepth()
	}
	out := make([]*planner.Statement, 0, len(tree.Stmts))
	for _, s := range tree.Stmts {
		start, end := int(s.StmtLocation), len(sql)
		if s.StmtLen > 0 {
			end = start + int(s.StmtLen)
		}
		text := sql[start:end]
		trimmed := strings.TrimLeft(text, " \t\r\n\f\v")
		start += len(text) - len(trimmed)
		st := &planner.Statement{Text: strings.TrimRight(trimmed, " \t\r\n\f\v"), Location: start, AST: s.Stmt}
		st.Tag, st.Planned = tagOf(s.Stmt)
		out = append(out, st)
	}
	return out, nil
}

// One parses a string that must hold exactly one statement.
func One(sql string) (*planner.Statement, error) {
	list, err := Parse(sql)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, pgerror.New(pgerror.SyntaxError, "expected one statement, found %d", len(list))
	}
	return list[0], nil
}

// Expression parses a scalar expression as it stands in a DEFAULT or CHECK clause.
func Expression(sql string) (*pg.Node, error) {
	const prefix = "SELECT "
	st, err := One(prefix + sql)
	if err != nil {
		return nil, err
	}
	sel := st.AST.GetSelectStmt()
	if sel == nil || len(sel.TargetList) != 1 || sel.FromClause != nil {
		return nil, pgerror.New(pgerror.SyntaxError, "expected one expression")
	}
	return sel.TargetList[0].GetResTarget().GetVal(), nil
}

// TypeName parses a type's name ("numeric(10,2)[]"). Positions are meaningless.
func TypeName(text string) (*pg.TypeName, error) {
	n, err := Expression("NULL::" + text)
	if err != nil {
		return nil, err
	}
	if c := n.GetTypeCast(); c != nil {
		return c.TypeName, nil
	}
	return nil, pgerror.New(pgerror.SyntaxError, "invalid type name \"%s\"", text)
}
