package docstore

import (
	"context"
	"slices"

	"ostraka/sqltypes"
)

// Split is a pipeline divided between shards and the merge: every shard runs
// Shard, the answers are merged in Order (nil: one after the other) and go
// through Merge. The outcome is that of the whole pipeline on one server.
type Split struct {
	Shard JSON
	Order *Sort
	// OrderSpec is Order as it was written, for another node.
	OrderSpec JSON
	Merge     JSON
}

// SplitPipeline divides a pipeline at its first stage that needs all documents.
// $group goes to the shards as partial states when its accumulators can be
// merged whatever the order of documents; otherwise the shards deliver in the
// order of _id.
func SplitPipeline(p JSON) (*Split, error) {
	list, err := stagesOf(p)
	if err != nil {
		return nil, err
	}
	if list, err = desugar(list); err != nil {
		return nil, err
	}
	if _, err := compileStages(list, 0); err != nil {
		return nil, err
	}
	s := &Split{}
	var shard []JSON
	rest := list
	byID := func() error {
		id := obj("_id", intJSON(1))
		shard = append(shard, obj("$sort", id))
		s.OrderSpec = id
		s.Order, err = CompileSort(id)
		return err
	}
	for i, j := range list {
		name, arg, _ := stageName(j)
		rest = list[i:]
		switch name {
		case "$match", "$project", "$addFields", "$unset", "$unwind", "$replaceRoot", "$redact":
			shard = append(shard, j)
			rest = list[i+1:]
			continue
		case "$group":
			g, err := parseGroup(arg)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(g.accs, (*accSpec).ordered) {
				if err := byID(); err != nil {
					return nil, err
				}
				break
			}
			shard = append(shard, obj("$_groupPartial", arg))
			rest = append([]JSON{obj("$_groupMerge", arg)}, list[i+1:]...)
		case "$sort":
			shard = append(shard, j)
			s.OrderSpec = arg
			if s.Order, err = CompileSort(arg); err != nil {
				return nil, err
			}
			rest = list[i+1:]
			if n, ok := windowOf(rest); ok {
				shard = append(shard, obj("$limit", intJSON(n)))
			}
		case "$skip", "$limit":
			// Whichever documents: those that are first by _id, as one server reads them.
			if err := byID(); err != nil {
				return nil, err
			}
			if n, ok := windowOf(rest); ok {
				shard = append(shard, obj("$limit", intJSON(n)))
			}
		case "$sample":
			shard = append(shard, j)
		default:
			if err := byID(); err != nil {
				return nil, err
			}
		}
		break
	}
	s.Shard, s.Merge = sqltypes.JSONArrayOf(shard), sqltypes.JSONArrayOf(rest)
	return s, nil
}

// windowOf is how many documents leading $skip and $limit stages need at most.
func windowOf(list []JSON) (n int64, ok bool) {
	for _, j := range list {
		name, arg, _ := stageName(j)
		v, err := wholeNumber(name, arg)
		switch {
		case err != nil:
			return 0, false
		case name == "$skip":
			n += v
			continue
		case name == "$limit":
			return n + v, true
		}
		return 0, false
	}
	return 0, false
}

// RunMerge runs the merging part of a split pipeline over merged answers. State
// needs Now, and Fetch (or a View) for stages that read other collections.
func RunMerge(ctx context.Context, st *State, merge JSON, in Cursor) (Result, error) {
	list, err := stagesOf(merge)
	if err != nil {
		return Result{}, err
	}
	stages, err := compileStages(list, 0)
	if err != nil {
		return Result{}, err
	}
	cur, err := openStages(ctx, &runner{st: st, own: st.Txn != nil}, stages, in)
	if err != nil {
		return Result{}, err
	}
	res := Result{Docs: cur}
	if n := len(stages); n > 0 {
		if w, ok := stages[n-1].(*writeStage); ok {
			res.Counts = w.counts
		}
	}
	return res, nil
}

// MergeSorted merges cursors that are each in the sort's order; with a nil sort
// they follow one another.
func MergeSorted(s *Sort, list []Cursor) Cursor {
	closeAll := func() {
		for _, c := range list {
			c.Close()
		}
	}
	if s == nil {
		i := 0
		return &funcCursor{close: closeAll, next: func() (JSON, bool, error) {
			for ; i < len(list); i++ {
				doc, ok, err := list[i].Next()
				if err != nil || ok {
					return doc, ok, err
				}
			}
			return JSON{}, false, nil
		}}
	}
	heads := make([]keyed, 0, len(list))
	started := false
	pull := func(i int) error {
		doc, ok, err := list[i].Next()
		if err != nil || !ok {
			return err
		}
		k := keyed{string(s.SortKey(doc)), doc, i}
		at, _ := slices.BinarySearchFunc(heads, k, func(a, b keyed) int {
			switch {
			case a.key < b.key || a.key == b.key && a.ref < b.ref:
				return -1
			case a.key > b.key || a.ref > b.ref:
				return 1
			}
			return 0
		})
		heads = slices.Insert(heads, at, k)
		return nil
	}
	return &funcCursor{close: closeAll, next: func() (JSON, bool, error) {
		if !started {
			started = true
			for i := range list {
				if err := pull(i); err != nil {
					return JSON{}, false, err
				}
			}
		}
		if len(heads) == 0 {
			return JSON{}, false, nil
		}
		h := heads[0]
		heads = slices.Delete(heads, 0, 1)
		return h.doc, true, pull(h.ref)
	}}
}
