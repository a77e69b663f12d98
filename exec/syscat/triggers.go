package syscat

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// registerTriggers declares pg_trigger and information_schema.triggers: the users'
// triggers. Foreign keys have none here.
func registerTriggers(s *Set) {
	s.static("pg_catalog.pg_trigger", columnNames("pg_trigger"), func(q *Query, emit Emit) error {
		eachTrigger(q.Cat, func(r *catalog.Relation, t *catalog.Trigger) {
			typ, constraint := 0, sqltypes.OID(0)
			for bit, set := range map[int]bool{1: t.Row, 2: t.Timing == 'b', 4: t.Insert, 8: t.Delete, 16: t.Update, 32: t.Truncate, 64: t.Timing == 'i'} {
				if set {
					typ |= bit
				}
			}
			if t.Constraint {
				constraint = t.OID
			}
			args := ""
			for _, a := range t.Args {
				args += a + "\x00"
			}
			emit(oid(t.OID), oid(r.OID), oid(t.Parent), text(t.Name), oid(t.Func), num(typ), char(t.Enabled), yes(false), oid(t.From), oid(0), oid(constraint),
				yes(t.Deferrable), yes(t.Deferred), num(len(t.Args)), sqltypes.Int2Vector(t.Columns), sqltypes.Bytes([]byte(args)), nodeText('w', t.OID, t.When),
				textOrNull(t.OldTable), textOrNull(t.NewTable))
		})
		return nil
	})
	s.static("information_schema.triggers", columnNames("triggers"), func(q *Query, emit Emit) error {
		l := &lookup{cat: q.Cat}
		order := map[string]int{}
		eachTrigger(q.Cat, func(r *catalog.Relation, t *catalog.Trigger) {
			db, orientation := sqltypes.Null, "STATEMENT"
			if d := q.Cat.Database(q.Cat.DB); d != nil {
				db = text(d.Name)
			}
			if t.Row {
				orientation = "ROW"
			}
			timing := triggerTimings[t.Timing]
			schema := text(l.schemaName(r.Schema))
			for _, e := range []struct {
				on   bool
				word string
			}{{t.Insert, "INSERT"}, {t.Delete, "DELETE"}, {t.Update, "UPDATE"}} {
				if !e.on {
					continue
				}
				key := schema.S + "." + r.Name + " " + e.word + orientation + timing
				order[key]++
				emit(db, schema, text(t.Name), text(e.word), db, schema, text(r.Name), num(order[key]), textOrNull(wrapped(t.When)),
					text("EXECUTE FUNCTION "+l.triggerFunction(t)), text(orientation), text(timing), textOrNull(t.OldTable), textOrNull(t.NewTable),
					sqltypes.Null, sqltypes.Null, sqltypes.Null)
			}
		})
		return nil
	})
}

func wrapped(cond string) string {
	if cond == "" {
		return ""
	}
	return "(" + cond + ")"
}

var triggerTimings = map[byte]string{'b': "BEFORE", 'a': "AFTER", 'i': "INSTEAD OF"}

// eachTrigger lists all triggers, by table and name.
func eachTrigger(cat *catalog.Catalog, f func(r *catalog.Relation, t *catalog.Trigger)) {
	for _, r := range sorted(cat.AllRelations, func(r *catalog.Relation) sqltypes.OID { return r.OID }) {
		for _, t := range r.Triggers {
			f(r, t)
		}
	}
}

// triggerFunction is the call that a trigger makes.
func (l *lookup) triggerFunction(t *catalog.Trigger) string {
	name := "?"
	if f := l.cat.Function(t.Func); f != nil {
		name = quoteIdent(f.Name)
		s := l.schemaName(f.Schema)
		hidden := s != "public" && s != "pg_catalog"
		if l.ctx != nil {
			hidden = !slices.Contains(l.ctx.SearchPath, f.Schema)
		}
		if hidden {
			name = quoteIdent(s) + "." + name
		}
	}
	args := make([]string, len(t.Args))
	for i, a := range t.Args {
		args[i] = "'" + strings.ReplaceAll(a, "'", "''") + "'"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// triggerDef is pg_get_triggerdef; pretty leaves out the schema of a visible table.
func triggerDef(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	var rel *catalog.Relation
	var t *catalog.Trigger
	eachTrigger(l.cat, func(r *catalog.Relation, x *catalog.Trigger) {
		if x.OID == argOID(a[0]) {
			rel, t = r, x
		}
	})
	if t == nil {
		return sqltypes.Null, nil
	}
	var b strings.Builder
	b.WriteString("CREATE ")
	if t.Constraint {
		b.WriteString("CONSTRAINT ")
	}
	b.WriteString("TRIGGER " + quoteIdent(t.Name) + " " + triggerTimings[t.Timing])
	or := " "
	event := func(on bool, word string) {
		if on {
			b.WriteString(or + word)
			or = " OR "
		}
	}
	event(t.Insert, "INSERT")
	event(t.Delete, "DELETE")
	event(t.Update, "UPDATE")
	if t.Update && len(t.Columns) > 0 {
		sep := " OF "
		for _, c := range t.Columns {
			b.WriteString(sep + quoteIdent(rel.Columns[c-1].Name))
			sep = ", "
		}
	}
	event(t.Truncate, "TRUNCATE")
	name := quoteIdent(l.schemaName(rel.Schema)) + "." + quoteIdent(rel.Name)
	if len(a) > 1 && a[1].True() {
		name = l.relationName(rel, nil)
	}
	b.WriteString(" ON " + name + " ")
	if t.Constraint {
		if f := l.cat.Relation(t.From); f != nil {
			b.WriteString("FROM " + quoteIdent(l.schemaName(f.Schema)) + "." + quoteIdent(f.Name) + " ")
		}
		if !t.Deferrable {
			b.WriteString("NOT ")
		}
		b.WriteString("DEFERRABLE INITIALLY ")
		if t.Deferred {
			b.WriteString("DEFERRED ")
		} else {
			b.WriteString("IMMEDIATE ")
		}
	}
	if t.OldTable != "" || t.NewTable != "" {
		b.WriteString("REFERENCING ")
		if t.OldTable != "" {
			b.WriteString("OLD TABLE AS " + quoteIdent(t.OldTable) + " ")
		}
		if t.NewTable != "" {
			b.WriteString("NEW TABLE AS " + quoteIdent(t.NewTable) + " ")
		}
	}
	if t.Row {
		b.WriteString("FOR EACH ROW ")
	} else {
		b.WriteString("FOR EACH STATEMENT ")
	}
	if t.When != "" {
		cond := "(" + t.When + ")"
		if len(a) < 2 || !a[1].True() {
			cond = wrapped(cond)
		}
		b.WriteString("WHEN " + cond + " ")
	}
	b.WriteString("EXECUTE FUNCTION " + l.triggerFunction(t))
	return text(b.String()), nil
}
