package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func duplicateColumn(name string) error {
	return pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", name)
}

// newType starts a user type: name checked, OIDs given.
func (r *run) newType(parts []string, kind byte) (*catalog.UserType, error) {
	schemaName, name, err := split(parts)
	if err != nil {
		return nil, err
	}
	schema, err := r.creationSchema(schemaName, false)
	if err != nil {
		return nil, err
	}
	name = truncateIdent(name)
	if err := r.freeTypeName(schema.OID, name); err != nil {
		return nil, err
	}
	t := &catalog.UserType{Name: name, Schema: schema.OID, Owner: r.role(), Kind: kind}
	// The array first, as in PostgreSQL: tools list objects in the order of their OIDs.
	if t.ArrayOID, err = r.newOID(); err != nil {
		return nil, err
	}
	if t.OID, err = r.newOID(); err != nil {
		return nil, err
	}
	b := &builder{run: r, rel: &catalog.Relation{Schema: schema.OID}}
	t.ArrayName = b.freeTypeName("_" + name)
	return t, nil
}

func (r *run) createEnum(n *pg.CreateEnumStmt) error {
	t, err := r.newType(strs(n.TypeName), 'e')
	if err != nil {
		return err
	}
	for i, label := range strs(n.Vals) {
		if err := checkLabel(label); err != nil {
			return err
		}
		if slices.ContainsFunc(t.Labels, func(l catalog.EnumLabel) bool { return l.Label == label }) {
			return pgerror.New(pgerror.DuplicateObject, "enum label %q used more than once", label)
		}
		oid, err := r.newOID()
		if err != nil {
			return err
		}
		t.Labels = append(t.Labels, catalog.EnumLabel{OID: oid, Label: label, Order: float32(i + 1)})
	}
	r.schema().PutType(t)
	return nil
}

func checkLabel(label string) error {
	if len(label) > maxIdent || label == "" && false {
		return pgerror.New(pgerror.InvalidName, "invalid enum label %q", label).WithDetail("Labels must be %d bytes or less.", maxIdent)
	}
	return nil
}

// freeTypeName makes a name usable for a new type: an array type that has it by
// itself moves out of the way, as moveArrayTypeName does; any other type is an error.
func (r *run) freeTypeName(schema sqltypes.OID, name string) error {
	if err := r.claim(schema, name); err != nil {
		return err
	}
	t := r.catalog().TypeByName(schema, name)
	if t == nil {
		return nil
	}
	if t.Kind == 'a' {
		if of := r.catalog().UserType(t.Subtype); of != nil {
			cp := *of
			cp.ArrayName = (&builder{run: r, rel: &catalog.Relation{Schema: schema}}).freeTypeName("_" + name)
			r.schema().PutType(&cp)
			return nil
		}
	}
	return pgerror.New(pgerror.DuplicateObject, "type %q already exists", name)
}

// userType resolves a user type by name.
func (r *run) userType(parts []string) (*catalog.UserType, error) {
	schemaName, name, err := split(parts)
	if err != nil {
		return nil, err
	}
	schemas, err := r.searchSchemas(schemaName)
	if err != nil {
		return nil, err
	}
	for _, s := range schemas {
		if t := r.catalog().TypeByName(s, name); t != nil {
			return t, nil
		}
	}
	return nil, pgerror.New(pgerror.UndefinedObject, "type %q does not exist", strings.Join(parts, "."))
}

func (r *run) alterEnum(n *pg.AlterEnumStmt) error {
	t, err := r.userType(strs(n.TypeName))
	if err != nil {
		return err
	}
	if t.Kind != 'e' {
		return pgerror.New(pgerror.WrongObjectType, "%s is not an enum", t.Name)
	}
	if err := r.mustOwnType(t); err != nil {
		return err
	}
	cp := *t
	cp.Labels = slices.Clone(t.Labels)
	at := func(label string) int {
		return slices.IndexFunc(cp.Labels, func(l catalog.EnumLabel) bool { return l.Label == label })
	}
	if n.OldVal != "" {
		i := at(n.OldVal)
		if i < 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "%q is not an existing enum label", n.OldVal)
		}
		if at(n.NewVal) >= 0 {
			return pgerror.New(pgerror.DuplicateObject, "enum label %q already exists", n.NewVal)
		}
		cp.Labels[i].Label = n.NewVal
		r.schema().PutType(&cp)
		return nil
	}
	if err := checkLabel(n.NewVal); err != nil {
		return err
	}
	if at(n.NewVal) >= 0 {
		if n.SkipIfNewValExists {
			r.s.Notice("NOTICE", pgerror.DuplicateObject, sprintf("enum label %q already exists, skipping", n.NewVal))
			return nil
		}
		return pgerror.New(pgerror.DuplicateObject, "enum label %q already exists", n.NewVal)
	}
	oid, err := r.newOID()
	if err != nil {
		return err
	}
	label := catalog.EnumLabel{OID: oid, Label: n.NewVal}
	pos := len(cp.Labels)
	if n.NewValNeighbor != "" {
		if pos = at(n.NewValNeighbor); pos < 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "%q is not an existing enum label", n.NewValNeighbor)
		}
		if n.NewValIsAfter {
			pos++
		}
	}
	switch {
	case len(cp.Labels) == 0:
		label.Order = 1
	case pos == 0:
		label.Order = cp.Labels[0].Order - 1
	case pos == len(cp.Labels):
		label.Order = cp.Labels[pos-1].Order + 1
	default:
		label.Order = (cp.Labels[pos-1].Order + cp.Labels[pos].Order) / 2
	}
	cp.Labels = slices.Insert(cp.Labels, pos, label)
	r.schema().PutType(&cp)
	return nil
}

func (r *run) createComposite(n *pg.CompositeTypeStmt) error {
	schema, err := r.creationSchema(n.Typevar.Schemaname, false)
	if err != nil {
		return err
	}
	name := truncateIdent(n.Typevar.Relname)
	if err := r.freeTypeName(schema.OID, name); err != nil {
		return err
	}
	if err := r.mustBeFree(schema, name); err != nil {
		return err
	}
	rel := &catalog.Relation{Name: name, Schema: schema.OID, Kind: catalog.KindComposite, Persistence: 'p', Owner: r.role()}
	for _, node := range n.Coldeflist {
		d := node.GetColumnDef()
		if columnByName(rel, d.Colname) != nil {
			return duplicateColumn(d.Colname)
		}
		t, err := bind.BindTypeName(r.s.PlanContext(), d.TypeName)
		if err != nil {
			return err
		}
		col := &catalog.Column{Num: int16(len(rel.Columns) + 1), Name: d.Colname, Type: t, StatTarget: -1}
		if err := r.storable(rel, col); err != nil {
			return err
		}
		rel.Columns = append(rel.Columns, col)
	}
	return r.putNew(rel, schema)
}

func (r *run) createDomain(n *pg.CreateDomainStmt) error {
	t, err := r.newType(strs(n.Domainname), 'd')
	if err != nil {
		return err
	}
	if t.Base, err = bind.BindTypeName(r.s.PlanContext(), n.TypeName); err != nil {
		return err
	}
	if n.CollClause != nil {
		c := &catalog.Column{Name: t.Name, Type: t.Base}
		if err := setCollation(c, n.CollClause); err != nil {
			return err
		}
		t.Base = c.Type
	}
	if base := r.catalog().Type(t.Base.OID); base == nil || base.TypType == 'p' {
		return pgerror.New(pgerror.DatatypeMismatch, "%q is not a valid base type for a domain", sqltypes.FormatType(t.Base.OID, -1))
	}
	sawNull := false
	for _, node := range n.Constraints {
		c := node.GetConstraint()
		switch c.Contype {
		case pg.ConstrType_CONSTR_NOTNULL:
			if sawNull {
				return pgerror.New(pgerror.SyntaxError, "conflicting NULL/NOT NULL constraints")
			}
			t.NotNull = true
		case pg.ConstrType_CONSTR_NULL:
			if t.NotNull {
				return pgerror.New(pgerror.SyntaxError, "conflicting NULL/NOT NULL constraints")
			}
			sawNull = true
		case pg.ConstrType_CONSTR_DEFAULT:
			if t.HasDefault {
				return pgerror.New(pgerror.SyntaxError, "multiple default expressions")
			}
			if t.Default, err = deparseExpr(c.RawExpr); err != nil {
				return err
			}
			t.HasDefault = true
		case pg.ConstrType_CONSTR_CHECK:
			if err := r.addDomainCheck(t, c); err != nil {
				return err
			}
		case pg.ConstrType_CONSTR_UNIQUE:
			return pgerror.New(pgerror.SyntaxError, "unique constraints not possible for domains")
		case pg.ConstrType_CONSTR_PRIMARY:
			return pgerror.New(pgerror.SyntaxError, "primary key constraints not possible for domains")
		case pg.ConstrType_CONSTR_FOREIGN:
			return pgerror.New(pgerror.SyntaxError, "foreign key constraints not possible for domains")
		default:
			return pgerror.NotSupported("domain constraint %s", c.Contype)
		}
	}
	r.schema().PutType(t)
	return nil
}

func (r *run) addDomainCheck(t *catalog.UserType, c *pg.Constraint) error {
	text, err := deparseExpr(c.RawExpr)
	if err != nil {
		return err
	}
	if _, err := bind.DomainCheckExpr(r.s.PlanContext(), t.Base, text); err != nil {
		return err
	}
	name := c.Conname
	exists := func(n string) bool {
		return slices.ContainsFunc(t.Checks, func(c *catalog.Check) bool { return c.Name == n })
	}
	if name == "" {
		name = objectName(t.Name, "", "check")
		for i := 1; exists(name); i++ {
			name = objectName(t.Name, "", sprintf("check%d", i))
		}
	} else if exists(name) {
		return pgerror.New(pgerror.DuplicateObject, "constraint %q for domain %q already exists", name, t.Name)
	}
	oid, err := r.newOID()
	if err != nil {
		return err
	}
	t.Checks = append(t.Checks, &catalog.Check{OID: oid, Name: name, Expr: text, NotValid: c.SkipValidation})
	return nil
}

func (r *run) alterDomain(n *pg.AlterDomainStmt) error {
	t, err := r.userType(strs(n.TypeName))
	if err != nil {
		return err
	}
	if t.Kind != 'd' {
		return pgerror.New(pgerror.WrongObjectType, "%q is not a domain", t.Name)
	}
	if err := r.mustOwnType(t); err != nil {
		return err
	}
	cp := *t
	cp.Checks = slices.Clone(t.Checks)
	switch n.Subtype {
	case "T":
		cp.HasDefault, cp.Default = false, ""
		if n.Def != nil {
			if cp.Default, err = deparseExpr(n.Def); err != nil {
				return err
			}
			cp.HasDefault = true
		}
	case "N":
		cp.NotNull = false
	case "O":
		if err := r.validateDomain(&cp, "%s IS NULL", func(table, col string) error {
			return pgerror.New(pgerror.NotNullViolation, "column %q of table %q contains null values", col, table)
		}); err != nil {
			return err
		}
		cp.NotNull = true
	case "C":
		c := n.Def.GetConstraint()
		if err := r.addDomainCheck(&cp, c); err != nil {
			return err
		}
		check := cp.Checks[len(cp.Checks)-1]
		if !check.NotValid {
			if err := r.validateDomainCheck(&cp, check); err != nil {
				return err
			}
		}
	case "X":
		i := slices.IndexFunc(cp.Checks, func(c *catalog.Check) bool { return c.Name == n.Name })
		if i < 0 {
			if n.MissingOk {
				r.notice("constraint %q of domain %q does not exist, skipping", n.Name, t.Name)
				return nil
			}
			return pgerror.New(pgerror.UndefinedObject, "constraint %q of domain %q does not exist", n.Name, t.Name)
		}
		cp.Checks = slices.Delete(cp.Checks, i, i+1)
	case "V":
		i := slices.IndexFunc(cp.Checks, func(c *catalog.Check) bool { return c.Name == n.Name })
		if i < 0 {
			return pgerror.New(pgerror.UndefinedObject, "constraint %q of domain %q does not exist", n.Name, t.Name)
		}
		if err := r.validateDomainCheck(&cp, cp.Checks[i]); err != nil {
			return err
		}
		c := *cp.Checks[i]
		c.NotValid = false
		cp.Checks[i] = &c
	default:
		return pgerror.NotSupported("ALTER DOMAIN action %s", n.Subtype)
	}
	r.schema().PutType(&cp)
	return nil
}

// validateDomain looks for stored values of the domain for which a condition holds.
func (r *run) validateDomain(t *catalog.UserType, cond string, fail func(table, col string) error) error {
	var err error
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Kind != catalog.KindTable {
			return true
		}
		for _, c := range rel.Columns {
			if c.Dropped {
				continue
			}
			if c.Type.OID != t.OID {
				if r.madeOf(c.Type.OID, t.OID, 0) {
					err = pgerror.New(pgerror.FeatureNotSupported, "cannot alter type %q because column \"%s.%s\" uses it", t.Name, rel.Name, c.Name)
					return false
				}
				continue
			}
			var rows [][]sqltypes.Datum
			rows, err = r.s.Query(r.ctx, "SELECT 1 FROM "+r.qualified(rel)+" WHERE "+strings.ReplaceAll(cond, "%s", quoteIdent(c.Name))+" LIMIT 1")
			if err == nil && len(rows) > 0 {
				err = fail(rel.Name, c.Name)
			}
			if err != nil {
				return false
			}
		}
		return true
	})
	return err
}

// madeOf reports whether values of a type contain values of another: elements,
// bounds, fields.
func (r *run) madeOf(typ, part sqltypes.OID, depth int) bool {
	u := r.catalog().UserType(typ)
	if typ == part {
		return true
	}
	if u == nil || depth > 32 {
		return false
	}
	switch u.Kind {
	case 'd':
		return r.madeOf(u.Base.OID, part, depth+1)
	case 'a', 'r', 'm':
		return r.madeOf(u.Subtype, part, depth+1)
	case 'c':
		rel := r.catalog().Relation(u.Relation)
		return rel != nil && slices.ContainsFunc(rel.Columns, func(c *catalog.Column) bool {
			return !c.Dropped && r.madeOf(c.Type.OID, part, depth+1)
		})
	}
	return false
}

func (r *run) validateDomainCheck(t *catalog.UserType, check *catalog.Check) error {
	base := sqltypes.FormatType(t.Base.OID, t.Base.TypMod)
	cond := "NOT (SELECT " + check.Expr + " FROM (SELECT %s::" + base + " AS value) AS domain_value)"
	return r.validateDomain(t, cond, func(table, col string) error {
		return pgerror.New(pgerror.CheckViolation, "column %q of table %q contains values that violate the new constraint", col, table)
	})
}

func (r *run) dropTypes(n *pg.DropStmt, cascade bool) error {
	for _, obj := range n.Objects {
		parts := nameParts(obj)
		t, err := r.userType(parts)
		word := "type"
		if n.RemoveType == pg.ObjectType_OBJECT_DOMAIN {
			word = "domain"
		}
		if err != nil {
			if n.MissingOk && (pgerror.Is(err, pgerror.UndefinedObject) || pgerror.Is(err, pgerror.InvalidSchemaName)) {
				r.s.Notice("NOTICE", pgerror.SuccessfulCompletion, sprintf("type %q does not exist, skipping", strings.Join(parts, ".")))
				continue
			}
			return err
		}
		if word == "domain" && t.Kind != 'd' {
			return pgerror.New(pgerror.WrongObjectType, "%q is not a domain", t.Name)
		}
		if t.Kind == 'c' && !r.isPlainComposite(t) {
			rel := r.catalog().Relation(t.Relation)
			return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop type %s because table %s requires it", t.Name, rel.Name).
				WithHint("You can drop table %s instead.", rel.Name)
		}
		if err := r.mustOwnType(t); err != nil {
			return err
		}
		if err := r.dropTypeUses(t, cascade); err != nil {
			return err
		}
		r.dropType(t)
	}
	return nil
}

// dropTypeUses drops, with CASCADE, the columns of the type, or refuses.
func (r *run) dropTypeUses(t *catalog.UserType, cascade bool) error {
	type use struct {
		rel *catalog.Relation
		col *catalog.Column
	}
	var uses []use
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		for _, c := range rel.Columns {
			if !c.Dropped && (c.Type.OID == t.OID || c.Type.OID == t.ArrayOID) {
				uses = append(uses, use{rel, c})
			}
		}
		return true
	})
	slices.SortFunc(uses, func(a, b use) int { return int(a.rel.OID) - int(b.rel.OID) })
	var blockers, also []string
	var over []*catalog.UserType // domains and ranges made of it
	r.catalog().AllTypes(func(u *catalog.UserType) bool {
		if u.Kind == 'd' && u.Base.OID == t.OID || u.Kind == 'r' && u.Subtype == t.OID {
			over = append(over, u)
		}
		return true
	})
	for _, u := range uses {
		what := "column " + u.col.Name + " of " + kindWord(u.rel.Kind) + " " + r.visibleName(u.rel)
		if u.rel.Kind == catalog.KindComposite {
			what = "column " + u.col.Name + " of composite type " + r.visibleName(u.rel)
		}
		on := t.Name
		if u.col.Type.OID == t.ArrayOID {
			on += "[]"
		}
		blockers = append(blockers, what+" depends on type "+on)
		also = append(also, what)
	}
	for _, u := range over {
		blockers = append(blockers, "type "+u.Name+" depends on type "+t.Name)
		also = append(also, "type "+u.Name)
	}
	defs := r.typeDefinitions(t)
	for _, what := range defs.words {
		blockers = append(blockers, what+" depends on type "+t.Name)
		also = append(also, what)
	}
	if len(also) == 0 {
		return nil
	}
	if !cascade {
		return dependencyError("type "+t.Name, false, blockers)
	}
	d := &dropper{run: r, cascade: true, gone: map[sqltypes.OID]bool{}, also: also}
	d.noticeCascade()
	if err := r.dropDefinitions(defs); err != nil {
		return err
	}
	for _, u := range over {
		if err := r.dropTypeUses(u, true); err != nil {
			return err
		}
		r.dropType(u)
	}
	for _, u := range uses {
		if r.catalog().Relation(u.rel.OID) == nil {
			continue
		}
		b := &builder{run: r, rel: copyRelation(r.catalog().Relation(u.rel.OID)), schema: r.catalog().Schema(u.rel.Schema)}
		if err := b.dropColumn(&pg.AlterTableCmd{Name: u.col.Name, Behavior: pg.DropBehavior_DROP_CASCADE}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) dropType(t *catalog.UserType) {
	if t.Kind == 'c' {
		r.schema().DropRelation(t.Relation)
	}
	if t.Kind == 'r' {
		r.dropConstructors(t)
		r.schema().DropType(t.Multirange)
	}
	r.schema().DropType(t.OID)
}
