package ddl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func nodeName(n *pg.Node) string {
	s := fmt.Sprintf("%T", n.Node)
	return s[strings.LastIndexByte(s, '.')+1:]
}

// str is the string of a String node, "" for others.
func str(n *pg.Node) string {
	if s, ok := n.GetNode().(*pg.Node_String_); ok {
		return s.String_.Sval
	}
	return ""
}

// strs are the strings of a list of String nodes.
func strs(list []*pg.Node) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = str(n)
	}
	return out
}

// nameParts flattens an object name given as List, String or TypeName.
func nameParts(n *pg.Node) []string {
	switch x := n.GetNode().(type) {
	case *pg.Node_List:
		return strs(x.List.Items)
	case *pg.Node_String_:
		return []string{x.String_.Sval}
	case *pg.Node_TypeName:
		return strs(x.TypeName.Names)
	case *pg.Node_ObjectWithArgs:
		return strs(x.ObjectWithArgs.Objname)
	}
	return nil
}

// split returns schema ("" if unqualified) and name.
func split(parts []string) (schema, name string, err error) {
	switch len(parts) {
	case 1:
		return "", parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	case 3:
		return parts[1], parts[2], nil
	}
	return "", "", pgerror.New(pgerror.SyntaxError, "improper qualified name (too many dotted names): %s", strings.Join(parts, "."))
}

// creationSchema finds where a new object with this qualification goes.
func (r *run) creationSchema(schema string, temp bool) (*catalog.Schema, error) {
	cat := r.catalog()
	if temp {
		if schema != "" && schema != "pg_temp" {
			return nil, pgerror.New(pgerror.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema")
		}
		oid, err := r.s.TempSchema(r.ctx)
		if err != nil {
			return nil, err
		}
		return r.catalog().Schema(oid), nil
	}
	if schema == "pg_temp" {
		return r.creationSchema("", true)
	}
	if schema != "" {
		s := cat.SchemaByName(schema)
		if s == nil {
			return nil, noSchema(schema)
		}
		return s, r.checkCreateIn(s)
	}
	ctx := r.s.PlanContext()
	for _, oid := range ctx.SearchPath {
		if oid == catalogSchema || oid == ctx.TempSchema && oid != 0 {
			continue // implicit members of the path are not creation targets
		}
		if s := cat.Schema(oid); s != nil {
			return s, r.checkCreateIn(s)
		}
	}
	return nil, pgerror.New(pgerror.InvalidSchemaName, "no schema has been selected to create in")
}

// Schemas with fixed OIDs.
const catalogSchema sqltypes.OID = 11

func (r *run) checkCreateIn(s *catalog.Schema) error {
	if s.OID == catalogSchema || s.Name == "information_schema" {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	if !r.mayOnSchema(s, 'C') {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	return nil
}

func noSchema(name string) error {
	return pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", name)
}

func noRelation(schema, name string) error {
	if schema != "" {
		name = schema + "." + name
	}
	return pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", name)
}

// searchSchemas are the schemas to look in for a name with this qualification.
func (r *run) searchSchemas(schema string) ([]sqltypes.OID, error) {
	ctx := r.s.PlanContext()
	if schema == "pg_temp" {
		if ctx.TempSchema == 0 {
			return nil, nil
		}
		return []sqltypes.OID{ctx.TempSchema}, nil
	}
	if schema != "" {
		s := r.catalog().SchemaByName(schema)
		if s == nil {
			return nil, noSchema(schema)
		}
		return []sqltypes.OID{s.OID}, nil
	}
	return ctx.SearchPath, nil
}

// findRelation resolves a table, view, sequence or index name; nil when absent.
// For an index, the second result is set and the first is its table.
func (r *run) findRelation(schema, name string) (*catalog.Relation, *catalog.Index, error) {
	oids, err := r.searchSchemas(schema)
	if err != nil {
		return nil, nil, err
	}
	cat := r.catalog()
	for _, oid := range oids {
		if rel := cat.RelationByName(oid, name); rel != nil {
			return rel, nil, nil
		}
		if rel, ix := cat.IndexByName(oid, name); ix != nil {
			return rel, ix, nil
		}
		if vr := r.virtual(oid, name); vr != nil {
			return vr.Rel, nil, nil
		}
	}
	return nil, nil, nil
}

func (r *run) virtual(schema sqltypes.OID, name string) *planner.VirtualRelation {
	ctx := r.s.PlanContext()
	s := r.catalog().Schema(schema)
	if ctx.Relations == nil || s == nil {
		return nil
	}
	return ctx.Relations.VirtualByName(s.Name, name)
}

// relation resolves a RangeVar to an existing relation of the wanted kinds
// ("" any), locked in the mode.
func (r *run) relation(rv *pg.RangeVar, mode engine.RelLock, kinds string, what string) (*catalog.Relation, error) {
	rel, ix, err := r.findRelation(rv.Schemaname, rv.Relname)
	if err != nil {
		return nil, err
	}
	if rel == nil {
		return nil, noRelation(rv.Schemaname, rv.Relname)
	}
	if ix != nil {
		return nil, pgerror.New(pgerror.WrongObjectType, "%q is not a %s", rv.Relname, what)
	}
	if kinds != "" && !strings.ContainsRune(kinds, rune(rel.Kind)) {
		return nil, pgerror.New(pgerror.WrongObjectType, "%q is not a %s", rv.Relname, what)
	}
	if rel.Kind == catalog.KindVirtual {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied: %q is a system catalog", rv.Relname)
	}
	return r.lock(rel, mode)
}

// lock locks a relation and returns its newest descriptor: the lock may have
// waited for somebody else's DDL, whose work must not be undone by ours.
func (r *run) lock(rel *catalog.Relation, mode engine.RelLock) (*catalog.Relation, error) {
	if err := r.txn.LockRelation(r.ctx, rel.OID, mode, engine.WaitBlock); err != nil {
		return nil, err
	}
	if err := r.txn.StartStatement(r.ctx); err != nil {
		return nil, err
	}
	if now := r.catalog().Relation(rel.OID); now != nil {
		return now, nil
	}
	return nil, noRelation("", rel.Name)
}

func indexByOID(rel *catalog.Relation, oid sqltypes.OID) *catalog.Index {
	for _, ix := range rel.Indexes {
		if ix.OID == oid {
			return ix
		}
	}
	return nil
}

// ownRelation is relation with AccessExclusive lock and an ownership check.
func (r *run) ownRelation(rv *pg.RangeVar, kinds, what string) (*catalog.Relation, error) {
	rel, err := r.relation(rv, engine.AccessExclusive, kinds, what)
	if err != nil {
		return nil, err
	}
	return rel, r.mustOwn(rel)
}

func kindWord(k catalog.RelKind) string {
	switch k {
	case catalog.KindView:
		return "view"
	case catalog.KindMatView:
		return "materialized view"
	case catalog.KindSequence:
		return "sequence"
	case catalog.KindIndex:
		return "index"
	case catalog.KindComposite:
		return "type"
	}
	return "table"
}

const maxIdent = 63 // NAMEDATALEN - 1

// truncateIdent cuts a name at a character boundary, as PostgreSQL does.
func truncateIdent(s string) string {
	if len(s) <= maxIdent {
		return s
	}
	n := maxIdent
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// objectName is makeObjectName: name1_name2_label, the longer of the two names
// cut first so that the whole fits.
func objectName(name1, name2, label string) string {
	over := 0
	if label != "" {
		over += len(label) + 1
	}
	if name2 != "" {
		over += 1
	}
	n1, n2 := len(name1), len(name2)
	for n1+n2 > maxIdent-over {
		if n1 > n2 {
			n1--
		} else {
			n2--
		}
	}
	for n1 > 0 && n1 < len(name1) && !utf8.RuneStart(name1[n1]) {
		n1--
	}
	for n2 > 0 && n2 < len(name2) && !utf8.RuneStart(name2[n2]) {
		n2--
	}
	out := name1[:n1]
	if name2 != "" {
		out += "_" + name2[:n2]
	}
	if label != "" {
		out += "_" + label
	}
	return out
}

// freeRelationName is ChooseRelationName: the first of name, name1, name2 … that
// no relation or index in the schema has and taken does not refuse.
func (r *run) freeRelationName(schema sqltypes.OID, name1, name2, label string, taken func(string) bool) string {
	for pass := 0; ; pass++ {
		l := label
		if pass > 0 {
			l += strconv.Itoa(pass)
		}
		name := objectName(name1, name2, l)
		if !r.relationExists(schema, name) && (taken == nil || !taken(name)) {
			return name
		}
	}
}

func (r *run) relationExists(schema sqltypes.OID, name string) bool {
	cat := r.catalog()
	if cat.RelationByName(schema, name) != nil {
		return true
	}
	_, ix := cat.IndexByName(schema, name)
	return ix != nil
}

// claim waits for whoever is making an object of that name, and sees then what was
// made. Scope is the name's schema, or 0 for what all databases share.
func (r *run) claim(scope sqltypes.OID, name string) error {
	if err := r.txn.LockName(r.ctx, scope, name); err != nil {
		return err
	}
	return r.txn.StartStatement(r.ctx)
}

// mustBeFree refuses a name that a relation or a type in the schema already has.
func (r *run) mustBeFree(schema *catalog.Schema, name string) error {
	if schema.OID != r.s.PlanContext().TempSchema || schema.OID == 0 { // else nobody can
		if err := r.claim(schema.OID, name); err != nil {
			return err
		}
	}
	if r.relationExists(schema.OID, name) || r.virtual(schema.OID, name) != nil {
		return pgerror.New(pgerror.DuplicateTable, "relation %q already exists", name)
	}
	return nil
}

// deparseExpr gives the SQL text of an expression's syntax tree.
func deparseExpr(n *pg.Node) (string, error) {
	tree := &pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}},
		LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT,
		Op:          pg.SetOperation_SETOP_NONE,
	}}}}}}
	s, err := pg.Deparse(tree)
	if err != nil {
		return "", pgerror.Wrap(err, pgerror.InternalError, "could not deparse expression")
	}
	return strings.TrimPrefix(s, "SELECT "), nil
}

// deparseStmt gives the SQL text of a statement's syntax tree.
func deparseStmt(n *pg.Node) (string, error) {
	s, err := pg.Deparse(&pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: n}}})
	if err != nil {
		return "", pgerror.Wrap(err, pgerror.InternalError, "could not deparse statement")
	}
	return s, nil
}

// quoteIdent quotes an identifier where SQL needs it.
func quoteIdent(s string) string {
	plain := s != ""
	for i, c := range s {
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '$')) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// TempSchemaName names the schema of a session's temporary tables.
func TempSchemaName(pid int32) string { return fmt.Sprintf("pg_temp_%d", uint32(pid)) }
