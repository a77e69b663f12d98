package docstore

import (
	"context"
	"slices"
	"strings"
	"sync"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Attributes of a collection's relation.
const (
	attrKey = 1 // bytea: AppendKey of _id; the clustered key
	attrDoc = 2 // jsonb
)

// Collection is a collection's descriptor, compiled once.
type Collection struct {
	Rel     *catalog.Relation
	Indexes []*Index // without those of _id and of chunks
	single  map[string]*Index
	record  *Recording  // nil: changes are not kept
	chunks  *chunkIndex // nil: there is none
	target  *engine.WriteTarget
}

// Name of the collection.
func (c *Collection) Name() string { return c.Rel.Name }

// Option reads an option that create_collection was given ("shard_key").
func (c *Collection) Option(name string) (string, bool) {
	for _, o := range c.Rel.Options {
		if k, v, ok := strings.Cut(o, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

// compiled keeps what was made from descriptors, which never change.
var compiled struct {
	sync.RWMutex
	m map[*catalog.Relation]*Collection
}

const maxCompiled = 4096

// Lookup finds a collection in a catalogue; nil when there is none.
func Lookup(cat *catalog.Catalog, name string) (*Collection, error) {
	rel := cat.RelationByName(sqltypes.NamespaceDoc, name)
	if rel == nil || rel.Kind != catalog.KindCollection {
		return nil, nil
	}
	compiled.RLock()
	c := compiled.m[rel]
	compiled.RUnlock()
	if c != nil {
		return c, nil
	}
	c = &Collection{Rel: rel}
	for _, ix := range rel.Indexes {
		if ix.Clustered {
			continue
		}
		chunks, err := c.openChunkIndex(ix)
		if err != nil {
			return nil, err
		}
		if chunks != nil {
			c.chunks = chunks
			continue
		}
		x, err := openIndex(rel, ix)
		if err != nil {
			return nil, err
		}
		c.Indexes = append(c.Indexes, x)
	}
	c.single = c.singles()
	var err error
	if c.record, err = readRecording(c); err != nil {
		return nil, err
	}
	c.target = &engine.WriteTarget{Rel: rel}
	if len(c.Indexes) > 0 || c.chunks != nil {
		c.target.EvalMany = c.keysOf
	}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.m == nil || len(compiled.m) >= maxCompiled {
		compiled.m = map[*catalog.Relation]*Collection{}
	}
	compiled.m[rel] = c
	return c, nil
}

// keysOf is engine.WriteTarget.EvalMany.
func (c *Collection) keysOf(ix *catalog.Index, row []sqltypes.Datum) ([][]sqltypes.Datum, error) {
	if c.chunks != nil && c.chunks.ix.OID == ix.OID {
		return c.chunks.keys(row), nil
	}
	for _, x := range c.Indexes {
		if x.Ix.OID == ix.OID {
			return x.keys(sqltypes.JSONOf(row[attrDoc-1]), row[attrKey-1].S)
		}
	}
	return nil, pgerror.New(pgerror.InternalError, "collection %q has no index %q", c.Rel.Name, ix.Name)
}

// collection finds the command's collection and checks the role; nil when there is none.
func (r *runner) collection(name string, write bool) (*Collection, error) {
	c, err := Lookup(r.st.View.Catalog(), name)
	if err != nil || c == nil {
		return nil, err
	}
	if r.st.May != nil && !r.st.May(c.Rel, write) {
		return nil, notReadable(name)
	}
	return c, nil
}

const maxNameLen = 120

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxNameLen:
		return invalid("a collection's name has 1 to %d bytes", maxNameLen)
	case strings.ContainsAny(name, "$\x00"):
		return invalid("invalid collection name %q", name)
	}
	return nil
}

// namespaceLock is the relation lock that makes creators of collections take turns.
const namespaceLock = sqltypes.NamespaceDoc

// ensure finds a collection or makes it with the options; made tells which.
func (r *runner) ensure(ctx context.Context, name string, options []string) (c *Collection, made bool, err error) {
	if c, err = r.collection(name, true); c != nil || err != nil {
		return c, false, err
	}
	if err := checkName(name); err != nil {
		return nil, false, err
	}
	tx := r.st.Txn
	if err := tx.LockRelation(ctx, namespaceLock, engine.ShareRowExclusive, engine.WaitBlock); err != nil {
		return nil, false, err
	}
	if tx.Options().Isolation == engine.ReadCommitted {
		// Whoever had the lock before may have made it.
		if err := tx.StartStatement(ctx); err != nil {
			return nil, false, err
		}
		if c, err = r.collection(name, true); c != nil || err != nil {
			return c, false, err
		}
	}
	w := tx.Schema()
	oid, err := w.NewOID(ctx)
	if err != nil {
		return nil, false, err
	}
	pk, err := w.NewOID(ctx)
	if err != nil {
		return nil, false, err
	}
	storage, err := w.NewStorageID(ctx)
	if err != nil {
		return nil, false, err
	}
	rel := &catalog.Relation{OID: oid, Name: name, Schema: sqltypes.NamespaceDoc, Kind: catalog.KindCollection, Persistence: 'p',
		Owner: r.st.Owner, Options: options, StorageID: storage, Populated: true,
		Columns: []*catalog.Column{
			{Num: attrKey, Name: "key", Type: sqltypes.ColumnType{OID: sqltypes.OIDBytea, TypMod: -1}, NotNull: true},
			{Num: attrDoc, Name: "doc", Type: sqltypes.ColumnType{OID: sqltypes.OIDJsonb, TypMod: -1}, NotNull: true},
		},
		Indexes: []*catalog.Index{{OID: pk, Name: name + "." + idIndexName, Schema: sqltypes.NamespaceDoc, Owner: r.st.Owner, Method: "btree",
			Unique: true, Primary: true, Clustered: true, Keys: []catalog.IndexKey{{Attr: attrKey}}, Ready: true}},
	}
	if Chunks != nil && slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, "shard_key=") }) {
		if oid, err = w.NewOID(ctx); err != nil {
			return nil, false, err
		}
		if storage, err = w.NewStorageID(ctx); err != nil {
			return nil, false, err
		}
		rel.Indexes = append(rel.Indexes, chunkDescriptor(rel, oid, storage))
	}
	w.PutRelation(rel)
	c, err = Lookup(tx.Catalog(), name)
	if err == nil && c == nil {
		err = noCollection(name)
	}
	return c, err == nil, err
}

func (r *runner) createCollection(ctx context.Context, cmd *Command) (Result, error) {
	var options []string
	for _, p := range cmd.Options.Pairs() {
		if p.Value.Kind() == sqltypes.JSONNull {
			continue
		}
		switch p.Key {
		case "shard_key":
			if p.Value.Kind() != sqltypes.JSONString {
				return Result{}, invalid("shard_key must be the path of a field")
			}
			path, err := ParsePath(p.Value.Str())
			if err != nil {
				return Result{}, err
			}
			options = append(options, "shard_key="+path.Text)
		default:
			return Result{}, pgerror.NotSupported("collection option %q", p.Key)
		}
	}
	_, made, err := r.ensure(ctx, cmd.Collection, options)
	if err == nil && !made {
		err = pgerror.New(pgerror.DuplicateTable, "collection %q already exists", cmd.Collection)
	}
	return Result{Value: sqltypes.JSONBoolOf(true)}, err
}

func (r *runner) dropCollection(ctx context.Context, cmd *Command) (Result, error) {
	c, err := r.owned(ctx, cmd.Collection)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{Value: sqltypes.JSONBoolOf(false)}, nil
	}
	w := r.st.Txn.Schema()
	for _, id := range catalog.StorageIDs(c.Rel) {
		w.DeleteStorage(id)
	}
	r.st.Txn.DropFeed(c.Rel)
	w.DropRelation(c.Rel.OID)
	return Result{Value: sqltypes.JSONBoolOf(true)}, nil
}

// owned locks a collection whose descriptor is about to change; nil when there is none.
func (r *runner) owned(ctx context.Context, name string) (*Collection, error) {
	c, err := r.collection(name, true)
	if c == nil || err != nil {
		return nil, err
	}
	tx := r.st.Txn
	if err := tx.LockRelation(ctx, c.Rel.OID, engine.AccessExclusive, engine.WaitBlock); err != nil {
		return nil, err
	}
	if tx.Options().Isolation == engine.ReadCommitted {
		if err := tx.StartStatement(ctx); err != nil {
			return nil, err
		}
	}
	return r.collection(name, true)
}

// Collections lists a catalogue's collections by name.
func Collections(cat *catalog.Catalog) ([]*Collection, error) {
	var out []*Collection
	var err error
	cat.AllRelations(func(rel *catalog.Relation) bool {
		if rel.Kind == catalog.KindCollection {
			c, e := Lookup(cat, rel.Name)
			if e != nil {
				err = e
				return false
			}
			out = append(out, c)
		}
		return true
	})
	sortByName(out)
	return out, err
}

func (r *runner) listCollections() (Result, error) {
	list, err := Collections(r.st.View.Catalog())
	if err != nil {
		return Result{}, err
	}
	var docs []JSON
	for _, c := range list {
		if r.st.May != nil && !r.st.May(c.Rel, false) {
			continue
		}
		pairs := []sqltypes.JSONPair{{Key: "name", Value: sqltypes.JSONStringOf(c.Name())}, {Key: "indexes", Value: intJSON(int64(len(c.Indexes) + 1))}}
		if k, ok := c.Option("shard_key"); ok {
			pairs = append(pairs, sqltypes.JSONPair{Key: "shard_key", Value: sqltypes.JSONStringOf(k)})
		}
		docs = append(docs, sqltypes.JSONObjectOf(pairs))
	}
	return Result{Docs: Slice(docs)}, nil
}

func intJSON(n int64) JSON { return sqltypes.JSONNumberOf(sqltypes.NumericInt(n)) }
