package docstore

import (
	"context"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// stage is one compiled stage of a pipeline.
type stage interface {
	open(ctx context.Context, r *runner, in Cursor) (Cursor, error)
}

const (
	maxStages        = 1000
	maxPipelineDepth = 20
)

// stageName splits {"$match": …}.
func stageName(j JSON) (name string, arg JSON, err error) {
	if j.Kind() != sqltypes.JSONObject || j.Len() != 1 {
		return "", JSON{}, invalid("a pipeline stage must be an object with one field: %s", shown(j))
	}
	return j.Key(0), j.Value(0), nil
}

func stagesOf(p JSON) ([]JSON, error) {
	if p.IsZero() || p.Kind() != sqltypes.JSONArray {
		return nil, invalid("a pipeline must be an array of stages")
	}
	if p.Len() > maxStages {
		return nil, pgerror.New(pgerror.ProgramLimitExceeded, "a pipeline has at most %d stages", maxStages)
	}
	return p.Elems(), nil
}

// PipelineWrites reports a pipeline that ends with $out or $merge.
func PipelineWrites(p JSON) (bool, error) {
	list, err := stagesOf(p)
	if err != nil {
		return false, err
	}
	for i, s := range list {
		name, _, err := stageName(s)
		if err != nil {
			return false, err
		}
		if name == "$out" || name == "$merge" {
			if i < len(list)-1 {
				return false, invalid("%s can only be the last stage of a pipeline", name)
			}
			return true, nil
		}
	}
	return false, nil
}

// obj and arr build the documents that stages are rewritten to.
func obj(key string, v JSON) JSON {
	return sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: key, Value: v}})
}

// desugar replaces stages that are short for others: $count, $sortByCount,
// $bucket, $fill, $set, $replaceWith.
func desugar(list []JSON) ([]JSON, error) {
	var out []JSON
	for _, s := range list {
		name, arg, err := stageName(s)
		if err != nil {
			return nil, err
		}
		switch name {
		case "$set":
			out = append(out, obj("$addFields", arg))
		case "$replaceWith":
			out = append(out, obj("$replaceRoot", obj("newRoot", arg)))
		case "$count":
			if arg.Kind() != sqltypes.JSONString || arg.Str() == "" || arg.Str() == "_id" {
				return nil, invalid("$count needs the name of a field")
			}
			out = append(out, obj("$group", sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "_id", Value: sqltypes.JSONNullValue},
				{Key: arg.Str(), Value: obj("$sum", intJSON(1))}})), obj("$project", obj("_id", intJSON(0))))
		case "$sortByCount":
			out = append(out, obj("$group", sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "_id", Value: arg}, {Key: "count", Value: obj("$sum", intJSON(1))}})),
				obj("$sort", obj("count", intJSON(-1))))
		case "$fill":
			list, err := desugarFill(arg)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		case "$bucket":
			list, err := desugarBucket(arg)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		default:
			out = append(out, s)
		}
	}
	return out, nil
}

func desugarBucket(arg JSON) ([]JSON, error) {
	by, ok := arg.Lookup("groupBy")
	bounds, _ := arg.Lookup("boundaries")
	if !ok || bounds.IsZero() || bounds.Kind() != sqltypes.JSONArray || bounds.Len() < 2 {
		return nil, invalid("$bucket needs groupBy and at least two boundaries")
	}
	var branches []JSON
	for i := 0; i+1 < bounds.Len(); i++ {
		lo, hi := bounds.Index(i), bounds.Index(i+1)
		if Compare(lo, hi) >= 0 || ClassOf(lo) != ClassOf(hi) {
			return nil, invalid("the boundaries of $bucket must be of one type and ascend")
		}
		lit := func(v JSON) JSON { return obj("$literal", v) }
		in := obj("$and", sqltypes.JSONArrayOf([]JSON{obj("$gte", sqltypes.JSONArrayOf([]JSON{by, lit(lo)})), obj("$lt", sqltypes.JSONArrayOf([]JSON{by, lit(hi)}))}))
		branches = append(branches, sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "case", Value: in}, {Key: "then", Value: lit(lo)}}))
	}
	sw := []sqltypes.JSONPair{{Key: "branches", Value: sqltypes.JSONArrayOf(branches)}}
	if d, ok := arg.Lookup("default"); ok {
		sw = append(sw, sqltypes.JSONPair{Key: "default", Value: obj("$literal", d)})
	}
	pairs := []sqltypes.JSONPair{{Key: "_id", Value: obj("$switch", sqltypes.JSONObjectOf(sw))}}
	if o, ok := arg.Lookup("output"); ok {
		pairs = append(pairs, o.Pairs()...)
	} else {
		pairs = append(pairs, sqltypes.JSONPair{Key: "count", Value: obj("$sum", intJSON(1))})
	}
	return []JSON{obj("$group", sqltypes.JSONObjectOf(pairs)), obj("$sort", obj("_id", intJSON(1)))}, nil
}

// compileStages reads desugared stages.
func compileStages(list []JSON, depth int) ([]stage, error) {
	if depth > maxPipelineDepth {
		return nil, pgerror.New(pgerror.StatementTooComplex, "pipelines are nested too deeply")
	}
	list, err := desugar(list)
	if err != nil {
		return nil, err
	}
	out := make([]stage, 0, len(list))
	for _, j := range list {
		name, arg, err := stageName(j)
		if err != nil {
			return nil, err
		}
		make, ok := stageMakers[name]
		if !ok {
			return nil, pgerror.NotSupported("pipeline stage %s", name)
		}
		s, err := make(arg, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func openStages(ctx context.Context, r *runner, list []stage, cur Cursor) (Cursor, error) {
	for _, s := range list {
		next, err := s.open(ctx, r, cur)
		if err != nil {
			cur.Close()
			return nil, err
		}
		cur = next
	}
	return cur, nil
}

// aggregate runs a pipeline over a collection: leading $match, $sort, $skip and
// $limit become a planned find.
func (r *runner) aggregate(ctx context.Context, cmd *Command) (Result, error) {
	list, err := stagesOf(cmd.Pipeline)
	if err != nil {
		return Result{}, err
	}
	return r.pipeline(ctx, cmd.Collection, cmd.Filter, list, 0)
}

// pipelineHead is the find that a pipeline begins with, and its other stages.
func pipelineHead(coll string, filter JSON, list []JSON) (*Command, []JSON, error) {
	head := &Command{Op: OpFind, Collection: coll, Take: -1}
	var matches []JSON
	if !filter.IsZero() {
		matches = append(matches, filter)
	}
	i := 0
	for ; i < len(list); i++ {
		name, arg, err := stageName(list[i])
		if err != nil {
			return nil, nil, err
		}
		if name != "$match" {
			break
		}
		matches = append(matches, arg)
	}
	switch len(matches) {
	case 0:
	case 1:
		head.Filter = matches[0]
	default:
		head.Filter = obj("$and", sqltypes.JSONArrayOf(matches))
	}
	if i < len(list) {
		if name, arg, _ := stageName(list[i]); name == "$sort" {
			head.Sort = arg
			i++
		}
	}
	if i < len(list) {
		if name, arg, _ := stageName(list[i]); name == "$skip" {
			n, err := wholeNumber("$skip", arg)
			if err == nil && n >= 0 {
				head.Skip = n
				i++
			}
		}
	}
	if i < len(list) {
		if name, arg, _ := stageName(list[i]); name == "$limit" {
			n, err := wholeNumber("$limit", arg)
			if err == nil && n > 0 {
				head.Take = n
				i++
			}
		}
	}
	return head, list[i:], nil
}

func (r *runner) pipeline(ctx context.Context, coll string, filter JSON, list []JSON, depth int) (Result, error) {
	head, list, err := pipelineHead(coll, filter, list)
	if err != nil {
		return Result{}, err
	}
	stages, err := compileStages(list, depth)
	if err != nil {
		return Result{}, err
	}
	p, err := r.prepare(ctx, head, false)
	if err != nil {
		return Result{}, err
	}
	cur := Slice(nil)
	if p.c != nil {
		if cur, err = r.documents(ctx, p, head.Skip, head.Take); err != nil {
			return Result{}, err
		}
	}
	if cur, err = openStages(ctx, r, stages, cur); err != nil {
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
