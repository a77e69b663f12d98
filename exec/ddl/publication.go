package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createPublication is CREATE PUBLICATION: the object is kept and shown, nothing is sent.
func (r *run) createPublication(n *pg.CreatePublicationStmt) error {
	if err := r.mayCreateInDatabase(); err != nil {
		return err
	}
	if n.ForAllTables && !r.isSuper() {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create FOR ALL TABLES publication")
	}
	p := &catalog.Publication{Name: truncateIdent(n.Pubname), Owner: r.role(), AllTables: n.ForAllTables,
		Insert: true, Update: true, Delete: true, Truncate: true}
	if err := r.claim(6104, p.Name); err != nil {
		return err
	}
	if r.catalog().PublicationByName(p.Name) != nil {
		return publicationExists(p.Name)
	}
	if err := r.publicationOptions(p, n.Options); err != nil {
		return err
	}
	var err error
	if p.OID, err = r.newOID(); err != nil {
		return err
	}
	tables, schemas, err := r.publicationObjects(n.Pubobjects)
	if err != nil {
		return err
	}
	if len(schemas) > 0 && !r.isSuper() {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create FOR TABLES IN SCHEMA publication")
	}
	if err := r.addTables(p, tables, len(schemas) > 0, false); err != nil {
		return err
	}
	if err := r.addSchemas(p, schemas, false); err != nil {
		return err
	}
	r.schema().PutPublication(p)
	return nil
}

func publicationExists(name string) error {
	return pgerror.New(pgerror.DuplicateObject, "publication %q already exists", name)
}

func (r *run) mayCreateInDatabase() error {
	db := r.catalog().Database(r.catalog().DB)
	if db == nil || r.catalog().Holds(r.role(), db.Owner, db.ACL, 'C', "") {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for database %s", db.Name)
}

// publicationOptions is parse_publication_options.
func (r *run) publicationOptions(p *catalog.Publication, opts []*pg.Node) error {
	seen := map[string]bool{}
	for _, o := range opts {
		d := o.GetDefElem()
		if seen[d.Defname] {
			return pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = true
		switch d.Defname {
		case "publish":
			p.Insert, p.Update, p.Delete, p.Truncate = false, false, false, false
			for _, w := range strings.Split(defText(d), ",") {
				switch w = strings.ToLower(strings.TrimSpace(w)); w {
				case "insert":
					p.Insert = true
				case "update":
					p.Update = true
				case "delete":
					p.Delete = true
				case "truncate":
					p.Truncate = true
				case "":
					if strings.TrimSpace(defText(d)) != "" {
						return pgerror.New(pgerror.SyntaxError, `invalid list syntax in parameter "%s"`, "publish")
					}
				default:
					return pgerror.New(pgerror.SyntaxError, `unrecognized value for publication option "%s": "%s"`, "publish", w)
				}
			}
		case "publish_via_partition_root":
			v, err := boolOption(d)
			if err != nil {
				return err
			}
			p.ViaRoot = v
		default:
			return pgerror.New(pgerror.SyntaxError, "unrecognized publication parameter: %q", d.Defname)
		}
	}
	return nil
}

// boolOption is defGetBoolean.
func boolOption(d *pg.DefElem) (bool, error) {
	switch strings.ToLower(defText(d)) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, pgerror.New(pgerror.SyntaxError, "%s requires a Boolean value", d.Defname)
}

// publicationObjects are the tables and the schemas of a list.
func (r *run) publicationObjects(list []*pg.Node) (tables []*pg.PublicationTable, schemas []*catalog.Schema, err error) {
	for _, o := range list {
		x := o.GetPublicationObjSpec()
		name := x.Name
		switch x.Pubobjtype {
		case pg.PublicationObjSpecType_PUBLICATIONOBJ_TABLE:
			tables = append(tables, x.Pubtable)
			continue
		case pg.PublicationObjSpecType_PUBLICATIONOBJ_TABLES_IN_CUR_SCHEMA:
			if name = r.currentSchema(); name == "" {
				return nil, nil, pgerror.New(pgerror.UndefinedSchema, "no schema has been selected for CURRENT_SCHEMA")
			}
		}
		s, err := r.schemaByName(name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(schemas, s) {
			schemas = append(schemas, s)
		}
	}
	return tables, schemas, nil
}

func (r *run) currentSchema() string {
	ctx := r.s.PlanContext()
	for _, oid := range ctx.SearchPath {
		if s := r.catalog().Schema(oid); s != nil && oid != catalogSchema && oid != ctx.TempSchema {
			return s.Name
		}
	}
	return ""
}

// publishable is check_publication_add_relation.
func (r *run) publishable(rel *catalog.Relation) error {
	what := ""
	switch {
	case rel.Kind == catalog.KindVirtual || rel.OID < catalog.FirstUserOID:
		what = "system tables"
	case rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned:
		what = kindWord(rel.Kind) + "s"
	case rel.Persistence == 't':
		what = "temporary tables"
	case rel.Persistence == 'u':
		what = "unlogged tables"
	default:
		return nil
	}
	return pgerror.New(pgerror.InvalidParameterValue, "cannot add relation %q to publication", rel.Name).WithDetail("This operation is not supported for %s.", what)
}

// publishedTable finds a table of a list, locked.
func (r *run) publishedTable(t *pg.PublicationTable) (*catalog.Relation, error) {
	rel, ix, err := r.findRelation(t.Relation.Schemaname, t.Relation.Relname)
	switch {
	case err != nil:
		return nil, err
	case rel == nil:
		return nil, noRelation(t.Relation.Schemaname, t.Relation.Relname)
	case ix != nil:
		return nil, pgerror.New(pgerror.WrongObjectType, "%q is an index", t.Relation.Relname)
	case rel.Kind == catalog.KindVirtual:
		return rel, nil
	}
	return r.lock(rel, engine.ShareUpdateExclusive)
}

// addTables adds tables to a publication; schemas: it has schemas, too; skip: those
// it has already stay as they are.
func (r *run) addTables(p *catalog.Publication, list []*pg.PublicationTable, schemas, skip bool) error {
	type one struct {
		t   *pg.PublicationTable
		rel *catalog.Relation
	}
	var rels []one
	for _, t := range list {
		rel, err := r.publishedTable(t)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(rels, func(o one) bool { return o.rel.OID == rel.OID }); at >= 0 {
			old := rels[at].t
			switch {
			case t.WhereClause != nil || old.WhereClause != nil:
				return pgerror.New(pgerror.DuplicateObject, "conflicting or redundant WHERE clauses for table %q", rel.Name)
			case len(t.Columns) > 0 || len(old.Columns) > 0:
				return pgerror.New(pgerror.DuplicateObject, "conflicting or redundant column lists for table %q", rel.Name)
			}
			continue
		}
		rels = append(rels, one{t, rel})
	}
	entries := make([]catalog.PublishedTable, len(rels))
	for i, o := range rels {
		entries[i].Relation = o.rel.OID
		if o.t.WhereClause == nil {
			continue
		}
		var err error
		if entries[i].Where, entries[i].WhereAttrs, err = r.rowFilter(o.rel, o.t.WhereClause); err != nil {
			return err
		}
	}
	for _, o := range rels {
		if len(o.t.Columns) > 0 && schemas {
			return pgerror.New(pgerror.InvalidParameterValue, "cannot use column list for relation \"%s.%s\" in publication %q", r.catalog().Schema(o.rel.Schema).Name, o.rel.Name, p.Name).
				WithDetail("Column lists cannot be specified in publications containing FOR TABLES IN SCHEMA elements.")
		}
	}
	for i, o := range rels {
		if o.rel.Kind != catalog.KindVirtual {
			if err := r.mustOwn(o.rel); err != nil {
				return err
			}
		}
		if has := slices.ContainsFunc(p.Tables, func(t catalog.PublishedTable) bool { return t.Relation == o.rel.OID }); has {
			if skip {
				continue
			}
			return pgerror.New(pgerror.DuplicateObject, "relation %q is already member of publication %q", o.rel.Name, p.Name)
		}
		if err := r.publishable(o.rel); err != nil {
			return err
		}
		var err error
		if entries[i].Columns, err = publishedColumns(o.rel, strs(o.t.Columns)); err != nil {
			return err
		}
		if entries[i].OID, err = r.newOID(); err != nil {
			return err
		}
		p.Tables = append(p.Tables, entries[i])
	}
	return nil
}

// rowFilter checks and prints the WHERE of a published table.
func (r *run) rowFilter(rel *catalog.Relation, cond *pg.Node) (string, []int16, error) {
	attrs, err := bind.RowFilter(r.s.PlanContext(), rel, cond)
	if err != nil {
		return "", nil, err
	}
	text, err := deparseExpr(cond)
	return text, attrs, err
}

// publishedColumns is publication_translate_columns.
func publishedColumns(rel *catalog.Relation, names []string) ([]int16, error) {
	var out []int16
	for _, name := range names {
		col := columnByName(rel, name)
		switch {
		case col == nil && systemColumn(name):
			return nil, pgerror.New(pgerror.InvalidColumnReference, "cannot use system column %q in publication column list", name)
		case col == nil:
			return nil, noColumn(rel, name)
		case col.Generated != 0:
			return nil, pgerror.New(pgerror.InvalidColumnReference, "cannot use generated column %q in publication column list", name)
		case slices.Contains(out, col.Num):
			return nil, pgerror.New(pgerror.DuplicateObject, "duplicate column %q in publication column list", name)
		}
		out = append(out, col.Num)
	}
	slices.Sort(out)
	return out, nil
}

func (r *run) addSchemas(p *catalog.Publication, schemas []*catalog.Schema, skip bool) error {
	for _, s := range schemas {
		if slices.ContainsFunc(p.Schemas, func(x catalog.PublishedSchema) bool { return x.Schema == s.OID }) {
			if skip {
				continue
			}
			return pgerror.New(pgerror.DuplicateObject, "schema %q is already member of publication %q", s.Name, p.Name)
		}
		refuse := func(what string) error {
			return pgerror.New(pgerror.InvalidParameterValue, "cannot add schema %q to publication", s.Name).WithDetail("This operation is not supported for %s.", what)
		}
		switch {
		case s.OID == catalogSchema || s.Name == "information_schema" || s.OID == catalog.SchemaPgToast:
			return refuse("system schemas")
		case strings.HasPrefix(s.Name, "pg_temp_"):
			return refuse("temporary schemas")
		}
		oid, err := r.newOID()
		if err != nil {
			return err
		}
		p.Schemas = append(p.Schemas, catalog.PublishedSchema{OID: oid, Schema: s.OID})
	}
	return nil
}

// ownPublication finds a publication of the current role; the copy may be changed.
func (r *run) ownPublication(name string) (*catalog.Publication, error) {
	p := r.catalog().PublicationByName(name)
	if p == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "publication %q does not exist", name)
	}
	if !r.hasRole(p.Owner) {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of publication %s", name)
	}
	c := *p
	c.Tables, c.Schemas = slices.Clone(p.Tables), slices.Clone(p.Schemas)
	return &c, nil
}

// alterPublication is ALTER PUBLICATION … SET, ADD, DROP.
func (r *run) alterPublication(n *pg.AlterPublicationStmt) error {
	p, err := r.ownPublication(n.Pubname)
	if err != nil {
		return err
	}
	if len(n.Options) > 0 {
		if err := r.publicationOptions(p, n.Options); err != nil {
			return err
		}
		r.schema().PutPublication(p)
		return nil
	}
	tables, schemas, err := r.publicationObjects(n.Pubobjects)
	if err != nil {
		return err
	}
	if err := r.publicationTakes(n, p, tables, schemas); err != nil {
		return err
	}
	switch n.Action {
	case pg.AlterPublicationAction_AP_AddObjects:
		if err = r.addTables(p, tables, len(schemas)+len(p.Schemas) > 0, false); err == nil {
			err = r.addSchemas(p, schemas, false)
		}
	case pg.AlterPublicationAction_AP_SetObjects:
		old := *p
		p.Tables, p.Schemas = nil, nil
		if err = r.addTables(p, tables, len(schemas) > 0, false); err == nil {
			err = r.addSchemas(p, schemas, true)
		}
		for i, t := range p.Tables { // what stays keeps its number
			for _, o := range old.Tables {
				if o.Relation == t.Relation && o.Where == t.Where && slices.Equal(o.Columns, t.Columns) {
					p.Tables[i].OID = o.OID
				}
			}
		}
		for i, s := range p.Schemas {
			for _, o := range old.Schemas {
				if o.Schema == s.Schema {
					p.Schemas[i].OID = o.OID
				}
			}
		}
	default:
		err = r.dropPublished(p, tables, schemas)
	}
	if err != nil {
		return err
	}
	r.schema().PutPublication(p)
	return nil
}

// publicationTakes is CheckAlterPublication.
func (r *run) publicationTakes(n *pg.AlterPublicationStmt, p *catalog.Publication, tables []*pg.PublicationTable, schemas []*catalog.Schema) error {
	if len(schemas) > 0 && n.Action != pg.AlterPublicationAction_AP_DropObjects && !r.isSuper() {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to add or set schemas")
	}
	all := func(what string) error {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "publication %q is defined as FOR ALL TABLES", p.Name).
			WithDetail("%s cannot be added to or dropped from FOR ALL TABLES publications.", what)
	}
	switch {
	case len(schemas) > 0 && p.AllTables:
		return all("Schemas")
	case len(tables) > 0 && p.AllTables:
		return all("Tables")
	case len(schemas) > 0 && n.Action == pg.AlterPublicationAction_AP_AddObjects &&
		slices.ContainsFunc(p.Tables, func(t catalog.PublishedTable) bool { return len(t.Columns) > 0 }):
		return pgerror.New(pgerror.InvalidParameterValue, "cannot add schema to publication %q", p.Name).
			WithDetail("Schemas cannot be added if any tables that specify a column list are already part of the publication.")
	}
	return nil
}

func (r *run) dropPublished(p *catalog.Publication, tables []*pg.PublicationTable, schemas []*catalog.Schema) error {
	for _, t := range tables {
		rel, err := r.publishedTable(t)
		if err != nil {
			return err
		}
		if len(t.Columns) > 0 {
			return pgerror.New(pgerror.SyntaxError, "column list must not be specified in ALTER PUBLICATION ... DROP")
		}
		at := slices.IndexFunc(p.Tables, func(x catalog.PublishedTable) bool { return x.Relation == rel.OID })
		if at < 0 {
			return pgerror.New(pgerror.UndefinedObject, "relation %q is not part of the publication", rel.Name)
		}
		if t.WhereClause != nil {
			return pgerror.New(pgerror.SyntaxError, "cannot use a WHERE clause when removing a table from a publication")
		}
		p.Tables = slices.Delete(p.Tables, at, at+1)
	}
	for _, s := range schemas {
		at := slices.IndexFunc(p.Schemas, func(x catalog.PublishedSchema) bool { return x.Schema == s.OID })
		if at < 0 {
			return pgerror.New(pgerror.UndefinedObject, "tables from schema %q are not part of the publication", s.Name)
		}
		p.Schemas = slices.Delete(p.Schemas, at, at+1)
	}
	return nil
}

// dropPublications is DROP PUBLICATION.
func (r *run) dropPublications(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		name := nameParts(obj)[0]
		if n.MissingOk && r.catalog().PublicationByName(name) == nil {
			r.notice("publication %q does not exist, skipping", name)
			continue
		}
		p, err := r.ownPublication(name)
		if err != nil {
			return err
		}
		r.schema().DropPublication(p.OID)
	}
	return nil
}

func (r *run) renamePublication(old, name string) error {
	p, err := r.ownPublication(old)
	if err != nil {
		return err
	}
	if r.catalog().PublicationByName(name) != nil {
		return publicationExists(name)
	}
	if err := r.mayCreateInDatabase(); err != nil {
		return err
	}
	p.Name = name
	r.schema().PutPublication(p)
	return nil
}

func (r *run) setPublicationOwner(name string, to *catalog.Role) error {
	p, err := r.ownPublication(name)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case to.Super:
	case p.AllTables:
		why = "The owner of a FOR ALL TABLES publication must be a superuser."
	case len(p.Schemas) > 0:
		why = "The owner of a FOR TABLES IN SCHEMA publication must be a superuser."
	}
	if why != "" {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to change owner of publication %q", p.Name).WithHint("%s", why)
	}
	p.Owner = to.OID
	r.schema().PutPublication(p)
	return nil
}

func (r *run) commentPublication(name, text string) error {
	p, err := r.ownPublication(name)
	if err != nil {
		return err
	}
	p.Comment = text
	r.schema().PutPublication(p)
	return nil
}

// unpublish takes tables or a schema that go out of all publications.
func (r *run) unpublish(gone func(rel, schema sqltypes.OID) bool) {
	r.catalog().AllPublications(func(p *catalog.Publication) bool {
		c := *p
		c.Tables = slices.DeleteFunc(slices.Clone(p.Tables), func(t catalog.PublishedTable) bool { return gone(t.Relation, 0) })
		c.Schemas = slices.DeleteFunc(slices.Clone(p.Schemas), func(s catalog.PublishedSchema) bool { return gone(0, s.Schema) })
		if len(c.Tables) != len(p.Tables) || len(c.Schemas) != len(p.Schemas) {
			r.schema().PutPublication(&c)
		}
		return true
	})
}

// publishedUse is a publication that names a column, in its list or its row filter.
type publishedUse struct {
	pub    *catalog.Publication
	filter bool
}

func (u publishedUse) word(rel string) string {
	return "publication of table " + rel + " in publication " + u.pub.Name
}

// publicationsUsing lists the publications that name a column of a table.
func (r *run) publicationsUsing(rel *catalog.Relation, attr int16) []publishedUse {
	var out []publishedUse
	r.catalog().AllPublications(func(p *catalog.Publication) bool {
		for _, t := range p.Tables {
			if t.Relation != rel.OID {
				continue
			}
			filter := slices.Contains(t.WhereAttrs, attr)
			if filter || slices.Contains(t.Columns, attr) {
				out = append(out, publishedUse{p, filter})
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b publishedUse) int { return int(a.pub.OID) - int(b.pub.OID) })
	return out
}

// renamePublished renames a column in the row filters of a table.
func (r *run) renamePublished(rel sqltypes.OID, from, to string) error {
	var bad error
	r.catalog().AllPublications(func(p *catalog.Publication) bool {
		for i, t := range p.Tables {
			if t.Relation != rel || t.Where == "" {
				continue
			}
			c := *p
			c.Tables = slices.Clone(p.Tables)
			if c.Tables[i].Where, bad = bind.RenameInText(t.Where, from, to); bad != nil {
				return false
			}
			r.schema().PutPublication(&c)
		}
		return true
	})
	return bad
}
