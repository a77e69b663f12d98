package session

import (
	"os"
	"path/filepath"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/pgfront/copyio"
	"ostraka/pgfront/settings"
	"ostraka/pgfront/wire"

	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// copyStmt is COPY.
func (s *Session) copyStmt(p *prepared, n *pg.CopyStmt) (*outcome, error) {
	if n.IsProgram {
		return nil, pgerror.NotSupported("COPY from or to a program")
	}
	if n.Filename != "" {
		role, verb := "pg_write_server_files", "to"
		if n.IsFrom {
			role, verb = "pg_read_server_files", "from"
		}
		if !s.Superuser() {
			return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be superuser or have privileges of the %s role to COPY %s a file", role, verb).
				WithHint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.")
		}
	}
	c := &copier{s: s, p: p, stmt: n, path: n.Filename}
	if err := c.readOptions(); err != nil {
		return nil, err
	}
	if n.Query != nil {
		return tagged(c.toQuery(n.Query))
	}
	if err := c.findTable(); err != nil {
		return nil, err
	}
	if err := c.resolveForced(); err != nil {
		return nil, err
	}
	if n.IsFrom {
		if err := s.checkReadOnly("COPY FROM"); err != nil {
			return nil, err
		}
		return tagged(c.from())
	}
	return tagged(c.toTable())
}

// copier is one COPY statement.
type copier struct {
	s        *Session
	p        *prepared
	stmt     *pg.CopyStmt
	opts     copyio.Options
	encoding wire.Encoding
	path     string
	rel      *catalog.Relation
	columns  []*catalog.Column // of the column list, in order
	// Names given to FORCE_QUOTE and its like; all: "*".
	forceQuote, forceNotNull, forceNull []string
	forceAll                            bool
}

// readOptions reads the option list; errors have PostgreSQL's texts.
func (c *copier) readOptions() error {
	c.encoding = c.s.conf.encoding
	seen := map[string]bool{}
	for _, node := range c.stmt.Options {
		d := node.GetDefElem()
		pos := charPos(c.p.text, d.Location)
		if seen[d.Defname] {
			return pgerror.New(pgerror.SyntaxError, "conflicting or redundant options").At(pos)
		}
		seen[d.Defname] = true
		val := constText(d.Arg)
		switch d.Defname {
		case "format":
			switch val {
			case "text":
			case "csv":
				c.opts.Format = copyio.CSV
			case "binary":
				c.opts.Format = copyio.Binary
			default:
				return pgerror.New(pgerror.InvalidParameterValue, `COPY format "%s" not recognized`, val).At(pos)
			}
		case "freeze":
			if d.Arg != nil {
				if _, ok := settings.ParseBool(val); !ok {
					return pgerror.New(pgerror.SyntaxError, "freeze requires a Boolean value")
				}
			}
		case "delimiter":
			c.opts.Delimiter = val
			if val == "" {
				return pgerror.New(pgerror.FeatureNotSupported, "COPY delimiter must be a single one-byte character")
			}
		case "null":
			c.opts.Null, c.opts.NullSet = val, true
		case "header":
			if err := c.header(d, val); err != nil {
				return err
			}
		case "quote", "escape":
			if val == "" {
				val = "\x00\x00" // not one byte: refused by Check
			}
			if d.Defname == "quote" {
				c.opts.Quote = val
			} else {
				c.opts.Escape = val
			}
		case "force_quote":
			c.opts.HasForceQuote = true
			c.forceQuote, c.forceAll = nameList(d.Arg)
		case "force_not_null":
			c.opts.HasForceNotNull = true
			c.forceNotNull, _ = nameList(d.Arg)
		case "force_null":
			c.opts.HasForceNull = true
			c.forceNull, _ = nameList(d.Arg)
		case "encoding":
			norm, err := settings.Lookup("client_encoding").Normalize(val)
			if err != nil {
				if pgerror.Is(err, pgerror.FeatureNotSupported) {
					return err
				}
				return pgerror.New(pgerror.InvalidParameterValue, `argument to option "%s" must be a valid encoding name`, d.Defname).At(pos)
			}
			c.encoding = wire.EncodingByName(norm)
		default:
			return pgerror.New(pgerror.SyntaxError, `option "%s" not recognized`, d.Defname).At(pos)
		}
	}
	return c.opts.Check(c.stmt.IsFrom)
}

func (c *copier) header(d *pg.DefElem, val string) error {
	c.opts.HeaderSet = true
	if d.Arg == nil {
		c.opts.Header = copyio.HasHeader
		return nil
	}
	if strings.EqualFold(val, "match") {
		if !c.stmt.IsFrom {
			return pgerror.New(pgerror.FeatureNotSupported, `cannot use "match" with HEADER in COPY TO`)
		}
		c.opts.Header = copyio.MatchHeader
		return nil
	}
	switch strings.ToLower(val) {
	case "true", "on", "1":
		c.opts.Header = copyio.HasHeader
	case "false", "off", "0":
	default:
		return pgerror.New(pgerror.SyntaxError, `%s requires a Boolean value or "match"`, d.Defname)
	}
	return nil
}

func nameList(n *pg.Node) (names []string, all bool) {
	if n.GetAStar() != nil {
		return nil, true
	}
	for _, x := range n.GetList().GetItems() {
		names = append(names, x.GetString_().GetSval())
	}
	return names, false
}

// findTable resolves the relation and its column list.
func (c *copier) findTable() error {
	rel, err := c.s.relation(c.p.text, c.stmt.Relation)
	if err != nil {
		if e, ok := err.(*pgerror.Error); ok && e.Code == pgerror.UndefinedTable {
			w := *e
			w.Position = 0
			return &w
		}
		return err
	}
	if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindVirtual && !(rel.Kind == catalog.KindPartitioned && c.stmt.IsFrom) {
		return c.wrongKind(rel)
	}
	c.rel = rel
	if c.stmt.IsFrom && planner.RowSecurityActive(c.s.catalog(), c.s.role.OID, rel) {
		if off, _ := c.s.set.Get("row_security"); off == "off" {
			return pgerror.New(pgerror.InsufficientPrivilege, `query would be affected by row-level security policy for table "%s"`, rel.Name)
		}
		return pgerror.New(pgerror.FeatureNotSupported, "COPY FROM not supported with row-level security").WithHint("Use INSERT statements instead.")
	}
	if len(c.stmt.Attlist) == 0 {
		for _, col := range rel.Columns {
			if !col.Dropped && col.Generated == 0 {
				c.columns = append(c.columns, col)
			}
		}
		return nil
	}
	for _, a := range c.stmt.Attlist {
		col, err := c.column(a.GetString_().GetSval())
		if err != nil {
			return err
		}
		if col.Generated != 0 {
			return pgerror.New(pgerror.InvalidColumnReference, `column "%s" is a generated column`, col.Name).WithDetail("Generated columns cannot be used in COPY.")
		}
		for _, have := range c.columns {
			if have == col {
				return pgerror.New(pgerror.DuplicateColumn, `column "%s" specified more than once`, col.Name)
			}
		}
		c.columns = append(c.columns, col)
	}
	return nil
}

func (c *copier) column(name string) (*catalog.Column, error) {
	for _, col := range c.rel.Columns {
		if !col.Dropped && col.Name == name {
			return col, nil
		}
	}
	return nil, pgerror.New(pgerror.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, c.rel.Name)
}

func (c *copier) wrongKind(rel *catalog.Relation) error {
	verb := "copy from"
	if c.stmt.IsFrom {
		verb = "copy to"
	}
	kind := map[catalog.RelKind]string{catalog.KindView: "view", catalog.KindMatView: "materialized view", catalog.KindSequence: "sequence", catalog.KindPartitioned: "partitioned table"}[rel.Kind]
	if kind == "" {
		return pgerror.New(pgerror.WrongObjectType, `cannot %s non-table relation "%s"`, verb, rel.Name)
	}
	e := pgerror.New(pgerror.WrongObjectType, `cannot %s %s "%s"`, verb, kind, rel.Name)
	switch {
	case rel.Kind == catalog.KindSequence:
		return e
	case !c.stmt.IsFrom:
		return e.WithHint("Try the COPY (SELECT ...) TO variant.")
	case rel.Kind == catalog.KindView:
		return e.WithHint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
	}
	return e
}

// resolveForced turns the names of FORCE_… options into flags by column.
func (c *copier) resolveForced() error {
	flags := func(what string, names []string, all bool) ([]bool, error) {
		out := make([]bool, len(c.columns))
		for i := range out {
			out[i] = all
		}
		for _, n := range names {
			col, err := c.column(n)
			if err != nil {
				return nil, err
			}
			found := false
			for i, have := range c.columns {
				if have == col {
					out[i], found = true, true
				}
			}
			if !found {
				return nil, pgerror.New(pgerror.InvalidColumnReference, `%s column "%s" not referenced by COPY`, what, n)
			}
		}
		return out, nil
	}
	var err error
	if c.opts.HasForceQuote {
		if c.opts.ForceQuote, err = flags("FORCE_QUOTE", c.forceQuote, c.forceAll); err != nil {
			return err
		}
	}
	if c.opts.HasForceNotNull {
		if c.opts.ForceNotNull, err = flags("FORCE_NOT_NULL", c.forceNotNull, false); err != nil {
			return err
		}
	}
	if c.opts.HasForceNull {
		c.opts.ForceNull, err = flags("FORCE_NULL", c.forceNull, false)
	}
	return err
}

func (c *copier) names() []string {
	out := make([]string, len(c.columns))
	for i, col := range c.columns {
		out[i] = col.Name
	}
	return out
}

// toTable copies a table out: a query over its columns.
func (c *copier) toTable() (string, error) {
	sel := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}
	for _, col := range c.columns {
		ref := &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{pg.MakeStrNode(col.Name)}, Location: -1}}}
		sel.TargetList = append(sel.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: ref, Location: -1}}})
	}
	rv := &pg.RangeVar{Schemaname: c.stmt.Relation.Schemaname, Relname: c.stmt.Relation.Relname, Relpersistence: "p", Location: -1}
	sel.FromClause = []*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: rv}}}
	return c.copyOut(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
}

// toQuery copies a query's rows out.
func (c *copier) toQuery(q *pg.Node) (string, error) {
	if intoOf(q.GetSelectStmt()) != nil {
		return "", pgerror.New(pgerror.FeatureNotSupported, "COPY (SELECT INTO) is not supported")
	}
	return c.copyOut(q)
}

func (c *copier) copyOut(q *pg.Node) (string, error) {
	s := c.s
	inner := s.innerStatement(c.p, q)
	inner.declared = nil
	if err := s.compile(inner, s.catalog()); err != nil {
		return "", err
	}
	if inner.cols == nil {
		return "", pgerror.New(pgerror.FeatureNotSupported, "COPY query must have a RETURNING clause")
	}
	if c.rel == nil {
		for _, col := range inner.cols {
			c.columns = append(c.columns, &catalog.Column{Name: col.Name, Type: col.Type})
		}
		c.rel = &catalog.Relation{Name: "", Columns: c.columns}
		if err := c.resolveForced(); err != nil {
			return "", err
		}
	}
	po := &portal{s: s, p: inner, plan: inner.plan, cols: inner.cols}
	defer po.close()
	if err := s.start(po); err != nil {
		return "", err
	}
	n, err := c.writeRows(po)
	return sprintf("COPY %d", n), err
}

// openFile opens a server-side file.
func (c *copier) openFile(write bool) (*os.File, error) {
	if !filepath.IsAbs(c.path) && write {
		return nil, pgerror.New(pgerror.InvalidName, "relative path not allowed for COPY to file")
	}
	var f *os.File
	var err error
	verb, hint := "reading", "COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side facility such as psql's \\copy."
	if write {
		verb, hint = "writing", "COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side facility such as psql's \\copy."
		f, err = os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	} else {
		f, err = os.Open(c.path)
	}
	if err != nil {
		return nil, fileError(err, c.path, verb, hint)
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		_ = f.Close()
		return nil, pgerror.New(pgerror.WrongObjectType, `"%s" is a directory`, c.path)
	}
	return f, nil
}

func fileError(err error, path, verb, hint string) error {
	code, text := pgerror.IoError, err.Error()
	switch {
	case os.IsNotExist(err):
		code, text = pgerror.UndefinedFile, "No such file or directory"
	case os.IsPermission(err):
		code, text = pgerror.InsufficientPrivilege, "Permission denied"
	default:
		if pe, ok := err.(*os.PathError); ok {
			text = pe.Err.Error()
		}
	}
	return pgerror.Wrap(err, code, `could not open file "%s" for %s: %s`, path, verb, text).WithHint("%s", hint)
}
