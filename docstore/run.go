package docstore

import (
	"context"
	"errors"
	"time"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// runner executes one command.
type runner struct {
	st     *State
	own    bool // scans see the writes of the running statement
	accept func(JSON) bool
	newest engine.NewestReader // not nil: plans look at this state
	keep   string              // Command.KeepKey
	counts bool                // documents are counted only
}

// Run executes a command on one transaction or view. The caller has started the
// statement and undoes it when Run, or the cursor it returned, fails. Errors:
// 22023 for arguments, 0A000 for what is not known, 42P01, 23505 and what the
// engine answers.
func Run(ctx context.Context, st *State, cmd *Command) (Result, error) {
	r := &runner{st: st, accept: cmd.Accept, keep: cmd.KeepKey}
	if r.st.Now.IsZero() {
		r.st.Now = time.Now()
	}
	writes := cmd.Op.Writes()
	if cmd.Op == OpAggregate {
		var err error
		if writes, err = PipelineWrites(cmd.Pipeline); err != nil {
			return Result{}, err
		}
	}
	if writes {
		if st.Txn == nil {
			return Result{}, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute doc.%s() in a read-only transaction", cmd.Op)
		}
		r.own = true
	}
	if cmd.Skip < 0 {
		return Result{}, invalid("skip must not be negative")
	}
	switch cmd.Op {
	case OpInsert:
		return r.insert(ctx, cmd)
	case OpFind:
		return r.find(ctx, cmd)
	case OpFindOne:
		return r.findOne(ctx, cmd)
	case OpCount:
		return r.count(ctx, cmd)
	case OpDistinct:
		return r.distinct(ctx, cmd)
	case OpUpdate, OpUpdateOne, OpReplaceOne, OpFindAndUpdate:
		return r.update(ctx, cmd)
	case OpDelete, OpDeleteOne:
		return r.delete(ctx, cmd)
	case OpTextSearch:
		return r.textSearch(ctx, cmd)
	case OpVectorSearch:
		return r.vectorSearch(ctx, cmd)
	case OpFindForUpdate:
		return r.findForUpdate(ctx, cmd)
	case OpStats:
		return r.stats(ctx, cmd)
	case OpCompact:
		return r.compact(ctx, cmd)
	case OpExpire:
		return r.expire(ctx, cmd)
	case OpAggregate:
		return r.aggregate(ctx, cmd)
	case OpExplain:
		return r.explain(ctx, cmd)
	case OpCreateCollection:
		return r.createCollection(ctx, cmd)
	case OpDropCollection:
		return r.dropCollection(ctx, cmd)
	case OpListCollections:
		return r.listCollections()
	case OpCreateIndex:
		return r.createIndex(ctx, cmd)
	case OpDropIndex:
		return r.dropIndex(ctx, cmd)
	case OpRecordChanges:
		return r.recordChanges(ctx, cmd)
	case OpWatch:
		return r.watch(ctx, cmd)
	case OpListIndexes:
		return r.listIndexes(cmd)
	}
	return Result{}, pgerror.NotSupported("doc.%s", cmd.Op)
}

// insert adds documents; a collection that is not there is made.
func (r *runner) insert(ctx context.Context, cmd *Command) (Result, error) {
	c, _, err := r.ensure(ctx, cmd.Collection, nil)
	if err != nil {
		return Result{}, err
	}
	var res Result
	for _, d := range cmd.Docs {
		doc, id, err := r.withID(d)
		if err != nil {
			return Result{}, err
		}
		if err := r.put(ctx, c, doc, id); err != nil {
			return Result{}, err
		}
		res.IDs = append(res.IDs, id)
		res.Inserted++
	}
	return res, nil
}

// WithID returns the document with an _id, made by newID when it has none.
func WithID(doc JSON, newID func() JSON) (JSON, JSON, error) {
	if doc.Kind() != sqltypes.JSONObject {
		return JSON{}, JSON{}, invalid("a document must be an object, not %s", kindName(doc))
	}
	id, ok := doc.Lookup("_id")
	if !ok {
		id = newID()
		doc = sqltypes.JSONObjectOf(append(doc.Pairs(), sqltypes.JSONPair{Key: "_id", Value: id}))
		return doc, id, checkFields(doc)
	}
	if id.Kind() == sqltypes.JSONArray {
		return JSON{}, JSON{}, invalid("the _id of a document cannot be an array")
	}
	return doc, id, checkFields(doc)
}

// checkFields refuses names of fields that operators are spelled with.
func checkFields(doc JSON) error {
	for i, n := 0, doc.Len(); i < n; i++ {
		if k := doc.Key(i); k != "" && k[0] == '$' {
			return invalid("the field name %q must not begin with $", k)
		}
	}
	return nil
}

func (r *runner) withID(doc JSON) (JSON, JSON, error) {
	return WithID(doc, func() JSON {
		if r.st.NewID != nil {
			return r.st.NewID()
		}
		return NewObjectID(r.st.Now)
	})
}

// put writes a new document.
func (r *runner) put(ctx context.Context, c *Collection, doc, id JSON) error {
	var buf [48]byte
	row := [2]sqltypes.Datum{{S: string(AppendKey(buf[:0], id))}, doc.Datum()}
	if _, _, err := r.st.Txn.Insert(ctx, c.target, row[:], nil); err != nil {
		return c.explainDuplicate(err, doc)
	}
	return r.wrote(ctx, c, JSON{}, doc, "insert")
}

// explainDuplicate gives a unique violation a detail in terms of the document.
func (c *Collection) explainDuplicate(err error, doc JSON) error {
	var pe *pgerror.Error
	if err == nil || !errors.As(err, &pe) || pe.Code != pgerror.UniqueViolation {
		return err
	}
	paths := []string{"_id"}
	for _, x := range c.Indexes {
		if x.Ix.Name == pe.Constraint {
			paths = paths[:0]
			for _, f := range x.Spec.Fields {
				paths = append(paths, f.Path)
			}
		}
	}
	names, vals := "", ""
	for i, p := range paths {
		if i > 0 {
			names, vals = names+", ", vals+", "
		}
		v := JSON{}
		if path, err := ParsePath(p); err == nil {
			v, _ = path.Get(doc)
		}
		names, vals = names+p, vals+shown(v)
	}
	return pe.WithDetail("Key (%s)=(%s) already exists.", names, vals)
}

// found is what every reading command begins with: the collection, the filter,
// the order, and how the documents are found. c is nil when there is no collection.
type found struct {
	c      *Collection
	filter *Filter
	sort   *Sort
	access *access
}

func (r *runner) prepare(ctx context.Context, cmd *Command, write bool) (*found, error) {
	p := &found{}
	var err error
	if p.filter, err = CompileFilter(cmd.Filter); err != nil {
		return nil, err
	}
	if p.sort, err = CompileSort(cmd.Sort); err != nil {
		return nil, err
	}
	p.filter.bind(ctx, r.st.Now)
	if p.c, err = r.collection(cmd.Collection, write); err != nil || p.c == nil {
		return p, err
	}
	p.access, err = r.plan(ctx, p.c, p.filter, p.sort)
	return p, err
}

// documents streams what find answers, before the projection.
func (r *runner) documents(ctx context.Context, p *found, skip, take int64) (Cursor, error) {
	hint := 0
	if id, ok := p.access.point(); ok && !r.own {
		return r.one(ctx, p, id, skip, take)
	}
	sorted := p.sort == nil || p.access.sorted
	if take >= 0 && sorted && p.filter.All() {
		hint = int(min(skip+take, 1<<20))
	}
	s, err := r.open(ctx, p.access, p.filter, false, hint)
	if err != nil {
		return nil, err
	}
	if sorted {
		return Window(s, skip, take), nil
	}
	defer s.Close()
	t := topN{sort: p.sort, limit: -1}
	if take >= 0 && skip+take < 1<<30 {
		t.limit = int(skip + take)
	}
	for {
		doc, ok, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := t.add(doc, 0); err != nil {
			return nil, err
		}
	}
	list := t.sorted()
	docs := make([]JSON, len(list))
	for i := range list {
		docs[i] = list[i].doc
	}
	return Window(Slice(docs), skip, take), nil
}

// point is the key of the only document there can be.
func (a *access) point() (key sqltypes.Datum, ok bool) {
	if a.index != nil || len(a.spans) != 1 || len(a.spans[0].Lo) != 1 || len(a.spans[0].Hi) != 1 || !a.spans[0].LoInc || !a.spans[0].HiInc ||
		a.spans[0].Lo[0].S != a.spans[0].Hi[0].S {
		return sqltypes.Datum{}, false
	}
	return a.spans[0].Lo[0], true
}

// one reads one document by its _id.
func (r *runner) one(ctx context.Context, p *found, key sqltypes.Datum, skip, take int64) (Cursor, error) {
	var dst [1]sqltypes.Datum
	_, ok, err := r.st.View.Get(ctx, p.c.Rel, nil, []sqltypes.Datum{key}, []int16{attrDoc}, dst[:])
	if err != nil || !ok {
		return Slice(nil), err
	}
	doc := sqltypes.JSONOf(dst[0])
	if ok, err = p.filter.Match(doc); err != nil || !ok || r.accept != nil && !r.accept(doc) {
		return Slice(nil), err
	}
	return Window(Slice([]JSON{doc}), skip, take), nil
}

func (r *runner) find(ctx context.Context, cmd *Command) (Result, error) {
	proj, err := CompileProjection(cmd.Projection)
	if err != nil {
		return Result{}, err
	}
	p, err := r.prepare(ctx, cmd, false)
	if err != nil || p.c == nil {
		return Result{Docs: Slice(nil)}, err
	}
	cur, err := r.documents(ctx, p, cmd.Skip, cmd.Take)
	if err != nil {
		return Result{}, err
	}
	return Result{Docs: proj.Bind(ctx, r.st.Now).Cursor(cur)}, nil
}

func (r *runner) findOne(ctx context.Context, cmd *Command) (Result, error) {
	one := *cmd
	one.Take = 1
	res, err := r.find(ctx, &one)
	if err != nil {
		return res, err
	}
	defer res.Docs.Close()
	res.Value, _, err = res.Docs.Next()
	return Result{Value: res.Value}, err
}

func (r *runner) count(ctx context.Context, cmd *Command) (Result, error) {
	p, err := r.prepare(ctx, cmd, false)
	if err != nil || p.c == nil {
		return Result{Value: intJSON(0)}, err
	}
	r.counts = true
	s, err := r.open(ctx, p.access, p.filter, false, 0)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	n := int64(0)
	for {
		_, ok, err := s.Next()
		if err != nil {
			return Result{}, err
		}
		if !ok {
			break
		}
		n++
	}
	n = max(0, n-cmd.Skip)
	if cmd.Take >= 0 {
		n = min(n, cmd.Take)
	}
	return Result{Value: intJSON(n)}, nil
}

// distinct streams the different values of a field, in order; the elements of
// arrays count each.
func (r *runner) distinct(ctx context.Context, cmd *Command) (Result, error) {
	path, err := ParsePath(cmd.Field)
	if err != nil {
		return Result{}, err
	}
	p, err := r.prepare(ctx, cmd, false)
	if err != nil || p.c == nil {
		return Result{Docs: Slice(nil)}, err
	}
	s, err := r.open(ctx, p.access, p.filter, false, 0)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	set := newValueSet()
	for {
		doc, ok, err := s.Next()
		if err != nil {
			return Result{}, err
		}
		if !ok {
			break
		}
		var c collector
		path.any(doc, 0, &c)
		for _, v := range c.vals {
			if err := set.add(v); err != nil {
				return Result{}, err
			}
		}
	}
	return Result{Docs: Slice(set.sorted())}, nil
}

func (r *runner) explain(ctx context.Context, cmd *Command) (Result, error) {
	if !cmd.Pipeline.IsZero() {
		list, err := stagesOf(cmd.Pipeline)
		if err != nil {
			return Result{}, err
		}
		if cmd, _, err = pipelineHead(cmd.Collection, cmd.Filter, list); err != nil {
			return Result{}, err
		}
	}
	p, err := r.prepare(ctx, cmd, false)
	if err != nil {
		return Result{}, err
	}
	lines := []string{"Empty: no collection " + cmd.Collection}
	if p.c != nil {
		lines = p.access.describe()
		if !p.filter.All() {
			lines = append(lines, "  Document Filter: "+shown(cmd.Filter))
		}
		if p.sort != nil && !p.access.sorted {
			lines = append(lines, "  Sort in memory: "+shown(cmd.Sort))
		}
	}
	docs := make([]JSON, len(lines))
	for i, l := range lines {
		docs[i] = sqltypes.JSONStringOf(l)
	}
	return Result{Docs: Slice(docs)}, nil
}
