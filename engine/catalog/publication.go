package catalog

// Publication names tables whose changes would be sent to subscribers
// (pg_publication). Nothing is sent: it is kept, shown and checked.
type Publication struct {
	OID                              OID
	Name                             string
	Owner                            OID
	AllTables                        bool
	Insert, Update, Delete, Truncate bool
	ViaRoot                          bool
	Tables                           []PublishedTable  `json:",omitempty"` // in order of their addition
	Schemas                          []PublishedSchema `json:",omitempty"`
	Comment                          string            `json:",omitempty"`
}

// PublishedTable is a table of a publication (pg_publication_rel).
type PublishedTable struct {
	OID, Relation OID
	Where         string  `json:",omitempty"` // row filter, SQL text over the table's row
	WhereAttrs    []int16 `json:",omitempty"` // columns that it reads
	Columns       []int16 `json:",omitempty"` // in order; none: all
}

// PublishedSchema is a schema all of whose tables are published (pg_publication_namespace).
type PublishedSchema struct{ OID, Schema OID }

// Publishes reports whether a table belongs to the publication, and its own entry if it has one.
func (p *Publication) Publishes(r *Relation) (*PublishedTable, bool) {
	for i := range p.Tables {
		if p.Tables[i].Relation == r.OID {
			return &p.Tables[i], true
		}
	}
	if r.Kind != KindTable && r.Kind != KindPartitioned || r.Persistence != 'p' || r.OID < FirstUserOID {
		return nil, false
	}
	for _, s := range p.Schemas {
		if s.Schema == r.Schema {
			return nil, true
		}
	}
	return nil, p.AllTables
}

// Subscription is a subscription to another server's publications (pg_subscription),
// of a database but listed in all of them. None is ever enabled.
type Subscription struct {
	OID            OID
	DB             OID
	Name           string
	Owner          OID
	Conninfo       string
	Slot           string // "": NONE
	Publications   []string
	SyncCommit     string
	Binary, Stream bool
	TwoPhase       bool
	DisableOnError bool
	SkipLSN        uint64
	Comment        string `json:",omitempty"`
}

func (c *Catalog) Publication(oid OID) *Publication            { return c.publications.oid(oid) }
func (c *Catalog) PublicationByName(name string) *Publication  { return c.publications.name(0, name) }
func (c *Catalog) AllPublications(f func(*Publication) bool)   { c.publications.byOID.all(f) }
func (c *Catalog) Subscription(oid OID) *Subscription          { return c.subscriptions.oid(oid) }
func (c *Catalog) AllSubscriptions(f func(*Subscription) bool) { c.subscriptions.byOID.all(f) }

// SubscriptionByName finds one of this database.
func (c *Catalog) SubscriptionByName(name string) *Subscription {
	return c.subscriptions.name(c.DB, name)
}

func (b *builder) applyReplication(ch Change) {
	switch ch.Kind {
	case ObjPublication:
		var old nameKey
		if o := b.c.Publication(ch.OID); o != nil {
			old = nameKey{0, o.Name}
		}
		if d, ok := ch.Desc.(*Publication); ok {
			b.publications.put(ch.OID, old, nameKey{0, d.Name}, d)
		} else {
			b.publications.drop(ch.OID, old)
		}
	case ObjSubscription:
		var old nameKey
		if o := b.c.Subscription(ch.OID); o != nil {
			old = nameKey{o.DB, o.Name}
		}
		if d, ok := ch.Desc.(*Subscription); ok {
			b.subscriptions.put(ch.OID, old, nameKey{d.DB, d.Name}, d)
		} else {
			b.subscriptions.drop(ch.OID, old)
		}
	}
}
