package docstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const maxIndexes = 64

// createIndex builds an index; the same specification again is no error. The
// answer is the index's name.
func (r *runner) createIndex(ctx context.Context, cmd *Command) (Result, error) {
	spec := cmd.Index
	if spec == nil {
		return Result{}, invalid("create_index needs fields")
	}
	if _, _, err := r.ensure(ctx, cmd.Collection, nil); err != nil {
		return Result{}, err
	}
	c, err := r.owned(ctx, cmd.Collection)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	if spec.Name == chunkIndexName {
		return Result{}, pgerror.New(pgerror.ReservedName, "the index name %q is reserved", spec.Name)
	}
	answer := Result{Value: sqltypes.JSONStringOf(spec.Name)}
	for _, x := range c.Indexes {
		if x.Spec.Name != spec.Name {
			continue
		}
		if Equal(x.Spec.JSON(), spec.JSON()) {
			return answer, nil
		}
		return Result{}, pgerror.New(pgerror.DuplicateTable, "index %q of collection %q already exists with another definition", spec.Name, c.Name())
	}
	if spec.Name == idIndexName || len(spec.Fields) == 1 && spec.Fields[0].Path == "_id" && !spec.Text {
		return Result{Value: sqltypes.JSONStringOf(idIndexName)}, nil
	}
	if len(c.Indexes) >= maxIndexes {
		return Result{}, pgerror.New(pgerror.ProgramLimitExceeded, "a collection has at most %d indexes", maxIndexes)
	}
	if key, ok := c.Option("shard_key"); ok && spec.Unique && !slices.ContainsFunc(spec.Fields, func(f IndexField) bool { return f.Path == key }) {
		return Result{}, pgerror.NotSupported("a unique index of a sharded collection without its shard key %q", key)
	}
	w := r.st.Txn.Schema()
	oid, err := w.NewOID(ctx)
	if err != nil {
		return Result{}, err
	}
	storage, err := w.NewStorageID(ctx)
	if err != nil {
		return Result{}, err
	}
	ix := spec.descriptor(c.Rel, oid, storage)
	rel := *c.Rel
	rel.Indexes = append(slices.Clone(rel.Indexes), ix)
	w.PutRelation(&rel)
	if c, err = Lookup(r.st.Txn.Catalog(), cmd.Collection); err != nil || c == nil {
		return Result{}, err
	}
	if err := w.BuildIndex(ctx, c.target, ix); err != nil {
		return Result{}, spec.explainDuplicate(err)
	}
	return answer, nil
}

// explainDuplicate gives the error of a unique index that cannot be built a detail
// without the index's own encoding.
func (s *IndexSpec) explainDuplicate(err error) error {
	var pe *pgerror.Error
	if !errors.As(err, &pe) || pe.Code != pgerror.UniqueViolation {
		return err
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Path
	}
	return pe.WithDetail("Two documents have the same (%s); a missing field counts as null.", strings.Join(names, ", "))
}

func (r *runner) dropIndex(ctx context.Context, cmd *Command) (Result, error) {
	c, err := r.owned(ctx, cmd.Collection)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	if cmd.Name == idIndexName || cmd.Name == chunkIndexName && c.chunks != nil {
		return Result{}, pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop the index %s of a collection", cmd.Name)
	}
	rel := *c.Rel
	rel.Indexes = slices.Clone(rel.Indexes)
	at := slices.IndexFunc(rel.Indexes, func(ix *catalog.Index) bool { return ix.Name == rel.Name+"."+cmd.Name })
	if at < 0 {
		return Result{}, pgerror.New(pgerror.UndefinedObject, "index %q of collection %q does not exist", cmd.Name, cmd.Collection)
	}
	w := r.st.Txn.Schema()
	w.DeleteStorage(rel.Indexes[at].StorageID)
	rel.Indexes = slices.Delete(rel.Indexes, at, at+1)
	w.PutRelation(&rel)
	return Result{Value: sqltypes.JSONBoolOf(true)}, nil
}

func (r *runner) listIndexes(cmd *Command) (Result, error) {
	c, err := r.collection(cmd.Collection, false)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	id := IndexSpec{Name: idIndexName, Fields: []IndexField{{Path: "_id"}}, Unique: true, ExpireAfter: -1}
	docs := []JSON{id.JSON()}
	list := slices.Clone(c.Indexes)
	slices.SortFunc(list, func(a, b *Index) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	for _, x := range list {
		docs = append(docs, x.Spec.JSON())
	}
	return Result{Docs: Slice(docs)}, nil
}
