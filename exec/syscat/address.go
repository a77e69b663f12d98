package syscat

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	register(map[string]scalar{
		"pg_describe_object": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			if a[0].I == 0 && a[1].I == 0 {
				return sqltypes.Null, nil // a pinned object of pg_depend
			}
			w, _, err := l.wordsOf(a)
			return textOrNull(w.description), err
		},
	})
	record := func(name string, values func(l *lookup, a []sqltypes.Datum) ([]sqltypes.Datum, error)) {
		register(map[string]scalar{name: func(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			row, err := values(l, a)
			if err != nil {
				return sqltypes.Null, err
			}
			return outRecord(c.Proc, row), nil
		}})
	}
	record("pg_identify_object", func(l *lookup, a []sqltypes.Datum) ([]sqltypes.Datum, error) {
		w, found, err := l.wordsOf(a)
		if !found {
			return []sqltypes.Datum{textOrNull(missingKinds[argOID(a[0])]), sqltypes.Null, sqltypes.Null, sqltypes.Null}, err
		}
		return []sqltypes.Datum{text(w.kind), textOrNull(w.schema), textOrNull(w.name), text(w.identity)}, err
	})
	record("pg_identify_object_as_address", func(l *lookup, a []sqltypes.Datum) ([]sqltypes.Datum, error) {
		w, found, err := l.wordsOf(a)
		if !found {
			return []sqltypes.Datum{textOrNull(missingKinds[argOID(a[0])]), sqltypes.Null, sqltypes.Null}, err
		}
		if w.args == nil {
			w.args = []string{}
		}
		return []sqltypes.Datum{text(w.kind), textArray(w.names), textArray(w.args)}, err
	})
	record("pg_get_object_address", func(l *lookup, a []sqltypes.Datum) ([]sqltypes.Datum, error) {
		names, err := addressList(a[1])
		if err != nil {
			return nil, err
		}
		args, err := addressList(a[2])
		if err != nil {
			return nil, err
		}
		o, err := l.address(a[0].S, names, args)
		return []sqltypes.Datum{oid(o.class), oid(o.oid), num(o.sub)}, err
	})
}

// outRecord is the result of a function with several OUT arguments.
func outRecord(p *sqltypes.Proc, values []sqltypes.Datum) sqltypes.Datum {
	var types []*sqltypes.Type
	for i, m := range p.ArgModes {
		if m == 'o' || m == 'b' || m == 't' {
			types = append(types, sqltypes.TypeByOID(p.AllArgTypes[i]))
		}
	}
	return sqltypes.MakeRecord(types, values)
}

// missingKinds is what pg_identify_object calls an object that is not there.
var missingKinds = map[sqltypes.OID]string{classClass: "relation", classProc: "routine", classType: "type", classConstraint: "constraint",
	classOperator: "operator", classCast: "cast", classNamespace: "schema", classAuthid: "role", classDatabase: "database", classRewrite: "rule", classPolicy: "policy", classPublication: "publication", classPublicationRel: "publication relation",
	classPublicationNamespace: "publication namespace", classSubscription: "subscription", classAttrdef: "default value",
	classAmOp: "operator of access method", classAmProc: "function of access method"}

// wordsOf describes the object that a function's first three arguments name. Error: XX000 for an unknown catalogue.
func (l *lookup) wordsOf(a []sqltypes.Datum) (objectWords, bool, error) {
	class := argOID(a[0])
	w, ok := l.words(class, argOID(a[1]), int(a[2].I))
	if !ok && missingKinds[class] == "" && fixedClasses[class].table == "" && !slices.Contains(emptyClasses, class) {
		return w, false, pgerror.New(pgerror.InternalError, "unrecognized object class: %d", class)
	}
	return w, ok, nil
}

// emptyClasses are the catalogues of kinds of objects that do not exist here.
var emptyClasses = []sqltypes.OID{2620, 2613, 3381, 2328, 1417, 1418, 826, 3466, 3576, 6243, 2604, 3601}

func addressList(d sqltypes.Datum) ([]string, error) {
	var out []string
	for _, e := range sqltypes.OpenArray(d).Elements() {
		if e.Null {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "name or argument lists may not contain nulls")
		}
		out = append(out, e.S)
	}
	return out, nil
}

// relationTypes are the kinds of relations by the word of an address.
var relationTypes = map[string]string{"table": "rt", "index": "i", "sequence": "S", "view": "v", "materialized view": "m", "toast table": "t",
	"foreign table": "f", "composite type": "c"}

// otherTypes are the further words of addresses, with the length that the list of names and that of arguments must have; -1: any.
var otherTypes = map[string][2]int{"table column": {-1, -1}, "table constraint": {-1, -1}, "default value": {-1, -1}, "rule": {-1, -1}, "policy": {-1, -1},
	"publication": {1, -1}, "publication relation": {-1, 1}, "publication namespace": {1, 1}, "subscription": {1, -1},
	"type": {1, -1}, "domain constraint": {1, 1}, "cast": {1, 1}, "function": {-1, -1}, "procedure": {-1, -1}, "aggregate": {-1, -1}, "routine": {-1, -1},
	"operator": {-1, 2}, "schema": {1, -1}, "role": {1, -1}, "database": {1, -1}, "language": {1, -1}, "tablespace": {1, -1}, "extension": {1, -1},
	"access method": {1, -1}, "collation": {-1, -1}, "conversion": {-1, -1}, "operator class": {-1, -1}, "operator family": {-1, -1},
	"text search parser": {-1, -1}, "text search dictionary": {-1, -1}, "text search template": {-1, -1}, "text search configuration": {-1, -1}}

// address finds an object by its address (pg_get_object_address).
func (l *lookup) address(kind string, names, args []string) (objectRef, error) {
	if _, rel := relationTypes[kind]; !rel {
		want, ok := otherTypes[kind]
		switch base := strings.TrimSuffix(kind, " column"); {
		case !ok && base != kind && relationTypes[base] != "":
			return objectRef{}, pgerror.New(pgerror.InvalidParameterValue, "unsupported object type %q", kind)
		case !ok:
			return objectRef{}, pgerror.New(pgerror.InvalidParameterValue, "unrecognized object type %q", kind)
		case want[0] >= 0 && len(names) != want[0]:
			return objectRef{}, pgerror.New(pgerror.InvalidParameterValue, "name list length must be exactly %d", want[0])
		case want[1] >= 0 && len(args) != want[1]:
			return objectRef{}, pgerror.New(pgerror.InvalidParameterValue, "argument list length must be exactly %d", want[1])
		}
	}
	if len(names) == 0 {
		return objectRef{}, pgerror.New(pgerror.InvalidParameterValue, "name list length must be at least 1")
	}
	last := len(names) - 1
	switch kind {
	case "table column", "table constraint", "default value", "rule", "policy":
		if last == 0 {
			word := map[string]string{"table column": "column name", "default value": "column name"}[kind]
			if word == "" {
				return objectRef{}, pgerror.New(pgerror.SyntaxError, "must specify relation and object name")
			}
			return objectRef{}, pgerror.New(pgerror.SyntaxError, "%s must be qualified", word)
		}
		o, err := l.find(names[:last])
		if err != nil {
			return objectRef{}, err
		}
		r, _ := l.relation(o)
		return l.partOf(kind, r, names[last])
	case "type":
		o, err := l.namedType(names[0])
		return objectRef{classType, o, 0}, err
	case "domain constraint":
		return l.domainConstraint(names[0], args[0])
	case "cast":
		return l.castAddress(names[0], args[0])
	case "function", "procedure", "aggregate", "routine":
		return l.routineAddress(kind, names, args)
	case "operator":
		o, err := l.operator(strings.Join(names, "."), strings.Join(args, ","), true)
		return objectRef{classOperator, o, 0}, err
	case "publication", "publication relation", "publication namespace", "subscription":
		return l.publicationAddress(kind, names, args)
	case "schema":
		if s := l.cat.SchemaByName(names[0]); s != nil {
			return objectRef{classNamespace, s.OID, 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", names[0])
	case "role":
		if r := l.cat.RoleByName(names[0]); r != nil {
			return objectRef{classAuthid, r.OID, 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", names[0])
	case "database":
		if d := l.cat.DatabaseByName(names[0]); d != nil {
			return objectRef{classDatabase, d.OID, 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.InvalidCatalogName, "database %q does not exist", names[0])
	}
	if kinds, ok := relationTypes[kind]; ok {
		o, err := l.find(names)
		if err != nil {
			return objectRef{}, err
		}
		if r, ix := l.relation(o); (ix != nil) != (kinds == "i") || ix == nil && strings.IndexByte(kinds, kindOf(r)) < 0 {
			return objectRef{}, pgerror.New(pgerror.WrongObjectType, "%q is not %s %s", names[last], article(kind), kind)
		}
		return objectRef{classClass, o, 0}, nil
	}
	return l.fixedAddress(kind, names)
}

func article(word string) string {
	if strings.IndexByte("aeiou", word[0]) >= 0 {
		return "an"
	}
	return "a"
}

// partOf finds a column, constraint, default or rule of a relation.
func (l *lookup) partOf(kind string, r *catalog.Relation, name string) (objectRef, error) {
	none := func(text string) (objectRef, error) {
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, text, name, r.Name)
	}
	switch kind {
	case "table column", "default value":
		for _, c := range r.Columns {
			if c.Name != name || c.Dropped {
				continue
			}
			if kind == "table column" {
				return objectRef{classClass, r.OID, int(c.Num)}, nil
			}
			if !c.HasDefault {
				return none("default value for column %q of relation %q does not exist")
			}
			return objectRef{classAttrdef, attrdefOID(r, c), 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", name, r.Name)
	case "policy":
		return policyAddress(r, name)
	case "rule":
		if (r.Kind == catalog.KindView || r.Kind == catalog.KindMatView) && name == "_RETURN" && r.OID >= catalog.FirstUserOID {
			return objectRef{classRewrite, r.OID, 0}, nil
		}
		return none("rule %q for relation %q does not exist")
	}
	found := sqltypes.OID(0)
	for _, c := range r.Checks {
		if c.Name == name {
			found = c.OID
		}
	}
	for _, f := range r.ForeignKeys {
		if f.Name == name {
			found = f.OID
		}
	}
	for _, ix := range r.Indexes {
		if ix.Constraint == name {
			found = ix.ConstraintOID
		}
	}
	if found == 0 {
		return none("constraint %q for table %q does not exist")
	}
	return objectRef{classConstraint, found, 0}, nil
}

func (l *lookup) domainConstraint(domain, name string) (objectRef, error) {
	o, err := l.namedType(domain)
	if err != nil {
		return objectRef{}, err
	}
	if t := l.cat.UserType(o); t != nil {
		for _, c := range t.Checks {
			if c.Name == name {
				return objectRef{classConstraint, c.OID, 0}, nil
			}
		}
	}
	return objectRef{}, pgerror.New(pgerror.UndefinedObject, "constraint %q for domain %q does not exist", name, domain)
}

func (l *lookup) castAddress(from, to string) (objectRef, error) {
	a, err := l.namedType(from)
	if err != nil {
		return objectRef{}, err
	}
	b, err := l.namedType(to)
	if err != nil {
		return objectRef{}, err
	}
	if c := l.cat.CastBetween(a, b); c != nil {
		return objectRef{classCast, c.OID, 0}, nil
	}
	for _, row := range fixedRows()["pg_cast"] {
		if argOID(row[1]) == a && argOID(row[2]) == b {
			return objectRef{2605, argOID(row[0]), 0}, nil
		}
	}
	return objectRef{}, pgerror.New(pgerror.UndefinedObject, "cast from type %s to type %s does not exist", from, to)
}

func (l *lookup) routineAddress(kind string, names, args []string) (objectRef, error) {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quoteIdent(n)
	}
	missing := func() error {
		word := kind
		if kind == "routine" {
			word = "function"
		}
		types, err := l.argTypes(strings.Join(args, ","))
		if err != nil {
			return err
		}
		shown := make([]string, len(types))
		for i, t := range types {
			shown[i] = l.typeName(t, sqltypes.NoTypMod)
		}
		return pgerror.New(pgerror.UndefinedFunction, "%s %s(%s) does not exist", word, strings.Join(quoted, "."), strings.Join(shown, ", "))
	}
	o, err := l.function(names, strings.Join(args, ","), true, strings.Join(quoted, ".")+"("+strings.Join(args, ",")+")")
	if err != nil {
		if pgerror.Is(err, pgerror.UndefinedFunction) {
			err = missing()
		}
		return objectRef{}, err
	}
	if w, _ := l.procWords(o); kind != "routine" && w.kind != kind {
		return objectRef{}, missing()
	}
	return objectRef{classProc, o, 0}, nil
}

// fixedAddress finds an object of a catalogue with fixed rows.
func (l *lookup) fixedAddress(kind string, names []string) (objectRef, error) {
	for class, c := range fixedClasses {
		if c.kind != kind {
			continue
		}
		cols := columnNames(c.table)
		at := func(column string) int { return slices.Index(cols, column) }
		rest, method := names, sqltypes.OID(0)
		if c.method != "" {
			for _, row := range fixedRows()["pg_am"] {
				if row[1].S == names[0] {
					method = argOID(row[0])
				}
			}
			if method == 0 {
				return objectRef{}, pgerror.New(pgerror.UndefinedObject, "access method %q does not exist", names[0])
			}
			rest = names[1:]
		}
		if len(rest) == 0 || len(rest) > 2 || len(rest) == 2 && rest[0] != "pg_catalog" {
			break
		}
		for _, row := range fixedRows()[c.table] {
			if row[at(c.name)].S == rest[len(rest)-1] && (method == 0 || argOID(row[at(c.method)]) == method) {
				return objectRef{class, argOID(row[0]), 0}, nil
			}
		}
	}
	name := names[len(names)-1]
	switch kind {
	case "collation":
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "collation %q for encoding \"UTF8\" does not exist", name)
	case "operator class", "operator family":
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "%s %q does not exist for access method %q", kind, name, names[0])
	}
	return objectRef{}, pgerror.New(pgerror.UndefinedObject, "%s %q does not exist", kind, name)
}
