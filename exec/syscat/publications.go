package syscat

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const (
	classPublication          sqltypes.OID = 6104
	classPublicationRel       sqltypes.OID = 6106
	classPublicationNamespace sqltypes.OID = 6237
	classSubscription         sqltypes.OID = 6100
)

func publications(cat *catalog.Catalog) []*catalog.Publication {
	return sorted(cat.AllPublications, func(p *catalog.Publication) sqltypes.OID { return p.OID })
}

func subscriptions(cat *catalog.Catalog) []*catalog.Subscription {
	return sorted(cat.AllSubscriptions, func(s *catalog.Subscription) sqltypes.OID { return s.OID })
}

// registerPublications declares the catalogues of logical replication: its objects
// are kept and shown, nothing is replicated by them.
func registerPublications(s *Set) {
	s.static("pg_catalog.pg_publication", columnNames("pg_publication"), func(q *Query, emit Emit) error {
		for _, p := range publications(q.Cat) {
			emit(oid(p.OID), text(p.Name), oid(p.Owner), yes(p.AllTables), yes(p.Insert), yes(p.Update), yes(p.Delete), yes(p.Truncate), yes(p.ViaRoot))
		}
		return nil
	})
	s.static("pg_catalog.pg_publication_rel", columnNames("pg_publication_rel"), func(q *Query, emit Emit) error {
		for _, p := range publications(q.Cat) {
			for _, t := range p.Tables {
				cols := sqltypes.Null
				if len(t.Columns) > 0 {
					cols = sqltypes.Int2Vector(t.Columns)
				}
				emit(oid(t.OID), oid(p.OID), oid(t.Relation), nodeText('p', t.OID, t.Where), cols)
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_publication_namespace", columnNames("pg_publication_namespace"), func(q *Query, emit Emit) error {
		for _, p := range publications(q.Cat) {
			for _, n := range p.Schemas {
				emit(oid(n.OID), oid(p.OID), oid(n.Schema))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_subscription", columnNames("pg_subscription"), func(q *Query, emit Emit) error {
		for _, u := range subscriptions(q.Cat) {
			two := byte('d')
			if u.TwoPhase {
				two = 'p'
			}
			emit(oid(u.OID), oid(u.DB), sqltypes.Int(int64(u.SkipLSN)), text(u.Name), oid(u.Owner), yes(false), yes(u.Binary), yes(u.Stream), char(two), yes(u.DisableOnError),
				text(u.Conninfo), textOrNull(u.Slot), text(u.SyncCommit), textArray(u.Publications))
		}
		return nil
	})
	s.static("pg_catalog.pg_subscription_rel", columnNames("pg_subscription_rel"), func(*Query, Emit) error { return nil })
}

// published lists the tables of a publication with their own entries, which may be nil.
func published(cat *catalog.Catalog, p *catalog.Publication, f func(r *catalog.Relation, t *catalog.PublishedTable)) {
	for _, r := range relations(cat) {
		if t, ok := p.Publishes(r); ok {
			f(r, t)
		}
	}
}

func init() {
	sqltypes.RegisterSet("pg_get_publication_tables", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
		l, err := lookupOf(c)
		if err != nil {
			return nil, err
		}
		p := l.cat.PublicationByName(a[0].S)
		if p == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "publication %q does not exist", a[0].S)
		}
		var rows [][]sqltypes.Datum
		published(l.cat, p, func(r *catalog.Relation, t *catalog.PublishedTable) {
			attrs, qual := sqltypes.Null, sqltypes.Null
			if t != nil {
				qual = nodeText('p', t.OID, t.Where)
				if len(t.Columns) > 0 {
					attrs = sqltypes.Int2Vector(t.Columns)
				}
			}
			rows = append(rows, []sqltypes.Datum{oid(r.OID), attrs, qual})
		})
		return &rowList{rows: rows}, nil
	})
}

// publicationWords describes publications and what belongs to them.
func (l *lookup) publicationWords(class, o sqltypes.OID) (w objectWords, ok bool) {
	for _, p := range publications(l.cat) {
		if class == classPublication && p.OID == o {
			return plainWords("publication", p.Name), true
		}
		for _, t := range p.Tables {
			if class == classPublicationRel && t.OID == o {
				rel, _ := l.relationWords(t.Relation, 0)
				name := rel.description[len("table "):]
				return objectWords{description: "publication of table " + name + " in publication " + p.Name, kind: "publication relation",
					identity: rel.identity + " in publication " + quoteIdent(p.Name), names: rel.names, args: []string{p.Name}}, true
			}
		}
		for _, n := range p.Schemas {
			if class == classPublicationNamespace && n.OID == o {
				schema := l.schemaName(n.Schema)
				return objectWords{description: "publication of schema " + schema + " in publication " + p.Name, kind: "publication namespace",
					identity: quoteIdent(schema) + " in publication " + quoteIdent(p.Name), names: []string{schema}, args: []string{p.Name}}, true
			}
		}
	}
	if class == classSubscription {
		if u := l.cat.Subscription(o); u != nil {
			return plainWords("subscription", u.Name), true
		}
	}
	return w, false
}

// publicationAddress finds a publication, what belongs to one, or a subscription.
func (l *lookup) publicationAddress(kind string, names, args []string) (objectRef, error) {
	if kind == "subscription" {
		if u := l.cat.SubscriptionByName(names[0]); u != nil {
			return objectRef{classSubscription, u.OID, 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "subscription %q does not exist", names[0])
	}
	name := names[0]
	if kind != "publication" {
		name = args[0]
	}
	var rel *catalog.Relation
	var schema *catalog.Schema
	switch kind {
	case "publication relation":
		o, err := l.find(names)
		if err != nil {
			return objectRef{}, err
		}
		rel, _ = l.relation(o)
	case "publication namespace":
		if schema = l.cat.SchemaByName(names[0]); schema == nil {
			return objectRef{}, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", names[0])
		}
	}
	p := l.cat.PublicationByName(name)
	switch {
	case p == nil:
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "publication %q does not exist", name)
	case rel != nil:
		if t, _ := p.Publishes(rel); t != nil {
			return objectRef{classPublicationRel, t.OID, 0}, nil
		}
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "publication relation %q in publication %q does not exist", rel.Name, p.Name)
	case schema != nil:
		for _, n := range p.Schemas {
			if n.Schema == schema.OID {
				return objectRef{classPublicationNamespace, n.OID, 0}, nil
			}
		}
		return objectRef{}, pgerror.New(pgerror.UndefinedObject, "publication schema %q in publication %q does not exist", schema.Name, p.Name)
	}
	return objectRef{classPublication, p.OID, 0}, nil
}

// publications emits what publications depend on.
func (d *depender) publications() {
	for _, p := range publications(d.q.Cat) {
		pub := objectRef{classPublication, p.OID, 0}
		for _, t := range p.Tables {
			o := objectRef{classPublicationRel, t.OID, 0}
			d.on(o, pub, 'a')
			d.on(o, objectRef{classClass, t.Relation, 0}, 'a')
			for _, a := range t.Columns {
				d.on(o, objectRef{classClass, t.Relation, int(a)}, 'n')
			}
			r := d.q.Cat.Relation(t.Relation)
			if t.Where == "" || d.ctx == nil || r == nil {
				continue
			}
			if e, err := bind.RelationExpr(d.ctx, r, t.Where); err == nil {
				for _, a := range d.uses(o, e) {
					if !slices.Contains(t.Columns, a) {
						d.on(o, objectRef{classClass, t.Relation, int(a)}, 'n')
					}
				}
			}
		}
		for _, n := range p.Schemas {
			o := objectRef{classPublicationNamespace, n.OID, 0}
			d.on(o, pub, 'a')
			d.on(o, objectRef{classNamespace, n.Schema, 0}, 'a')
		}
	}
}
