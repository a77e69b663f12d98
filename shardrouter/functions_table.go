package shardrouter

import (
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() { register(docFuncs) }

// docFuncs is the interface of documents in SQL, in the order of their OIDs.
var docFuncs = []docFunc{
	{op: docstore.OpInsert, params: []param{pColl, {"doc", tJsonb, ""}}, ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Docs = []docstore.JSON{a.must("doc")}
			return nil
		},
		answer: func(res *docstore.Result) (sqltypes.Datum, error) { return res.IDs[0].Datum(), nil }},
	{op: docstore.OpInsert, name: "insert_many", params: []param{pColl, {"docs", tJsonb, ""}}, ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			list := a.must("docs")
			if a.err == nil && list.Kind() != sqltypes.JSONArray {
				return pgerror.New(pgerror.InvalidParameterValue, "insert_many needs an array of documents")
			}
			cmd.Docs = list.Elems()
			return nil
		},
		answer: answerIDs},
	{op: docstore.OpFind, params: []param{pColl, pFilter, pSort, pSkip, pTake, pProj}, ret: tJsonb, set: true, fill: fillFind},
	{op: docstore.OpFindOne, params: []param{pColl, pFilter, pSort, pSkip, pProj}, ret: tJsonb,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Filter, cmd.Sort, cmd.Projection = a.json("filter"), a.ordered("sort", true), a.json("projection")
			cmd.Skip = a.count("skip", 0)
			return nil
		}, answer: answerValue},
	{op: docstore.OpCount, params: []param{pColl, pFilter, pSkip, pTake}, ret: tInt,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Filter, cmd.Skip, cmd.Take = a.json("filter"), a.count("skip", 0), a.count("take", -1)
			return nil
		},
		answer: func(res *docstore.Result) (sqltypes.Datum, error) {
			n, err := sqltypes.NumericToInt64(res.Value.Number())
			return sqltypes.Int(n), err
		}},
	{op: docstore.OpDistinct, params: []param{pColl, {"field", tText, ""}, pFilter}, ret: tJsonb, set: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Field, cmd.Filter = a.text("field"), a.json("filter")
			return nil
		}},
	{op: docstore.OpUpdate, params: []param{pColl, pMust, {"update", tJsonb, ""}, pArrays}, ret: tJsonb, writes: true, fill: fillUpdate, answer: answerCounts},
	{op: docstore.OpUpdateOne, params: []param{pColl, pMust, {"update", tJsonb, ""}, pUpsert, pSort, pArrays}, ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Upsert, cmd.Sort = a.flag("upsert"), a.ordered("sort", true)
			return fillUpdate(a, cmd)
		}, answer: answerCounts},
	{op: docstore.OpReplaceOne, params: []param{pColl, pMust, {"replacement", tJsonb, ""}, pUpsert}, ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Filter, cmd.Update, cmd.Upsert = a.json("filter"), a.must("replacement"), a.flag("upsert")
			return nil
		}, answer: answerCounts},
	{op: docstore.OpFindAndUpdate, params: []param{pColl, pMust, {"update", tJsonb, ""}, pSort, pProj, pUpsert, {"return_new", tBool, "false"}, pArrays},
		ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Upsert, cmd.ReturnNew = a.flag("upsert"), a.flag("return_new")
			cmd.Sort, cmd.Projection = a.ordered("sort", true), a.json("projection")
			return fillUpdate(a, cmd)
		}, answer: answerValue},
	{op: docstore.OpDelete, params: []param{pColl, pMust}, ret: tInt, writes: true,
		fill:   func(a *arguments, cmd *docstore.Command) error { cmd.Filter = a.must("filter"); return nil },
		answer: func(res *docstore.Result) (sqltypes.Datum, error) { return sqltypes.Int(res.Deleted), nil }},
	{op: docstore.OpDeleteOne, params: []param{pColl, pMust, pSort}, ret: tInt, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Filter, cmd.Sort = a.must("filter"), a.ordered("sort", true)
			return nil
		},
		answer: func(res *docstore.Result) (sqltypes.Datum, error) { return sqltypes.Int(res.Deleted), nil }},
	{op: docstore.OpAggregate, params: []param{pColl, {"pipeline", tJSON, ""}}, ret: tJsonb, set: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Pipeline = a.ordered("pipeline", false)
			writes, err := docstore.PipelineWrites(cmd.Pipeline)
			if err == nil && writes {
				err = pgerror.New(pgerror.ReadOnlySqlTransaction, "doc.aggregate() only reads, but the pipeline ends with $out or $merge").
					WithHint("Use doc.aggregate_into().")
			}
			return err
		}},
	{op: docstore.OpAggregate, name: "aggregate_into", params: []param{pColl, {"pipeline", tJSON, ""}}, ret: tJsonb, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Pipeline = a.ordered("pipeline", false)
			writes, err := docstore.PipelineWrites(cmd.Pipeline)
			if err == nil && !writes {
				err = pgerror.New(pgerror.InvalidParameterValue, "the pipeline of doc.aggregate_into() must end with $out or $merge")
			}
			return err
		}, answer: answerCounts},
	{op: docstore.OpCreateCollection, params: []param{{"name", tText, ""}, {"shard_key", tText, "NULL::text"}, {"options", tJsonb, "'{}'::jsonb"}},
		ret: tBool, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Collection = a.text("name")
			pairs := a.json("options").Pairs()
			if k := a.get("shard_key"); !k.Null {
				pairs = append(pairs, sqltypes.JSONPair{Key: "shard_key", Value: sqltypes.JSONStringOf(k.S)})
			}
			cmd.Options = sqltypes.JSONObjectOf(pairs)
			return nil
		}, answer: answerBool},
	{op: docstore.OpDropCollection, params: []param{{"name", tText, ""}}, ret: tBool, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error { cmd.Collection = a.text("name"); return nil }, answer: answerBool},
	{op: docstore.OpListCollections, ret: tJsonb, set: true},
	{op: docstore.OpCreateIndex, params: []param{pColl, {"fields", tJSON, ""}, {"name", tText, "NULL::text"}, {"unique", tBool, "false"},
		{"sparse", tBool, "false"}, {"partial", tJsonb, "NULL::jsonb"}, {"expire_after", tInt, "NULL::bigint"}}, ret: tText, writes: true,
		fill: fillIndex, answer: func(res *docstore.Result) (sqltypes.Datum, error) { return sqltypes.Text(res.Value.Str()), nil }},
	{op: docstore.OpListIndexes, params: []param{pColl}, ret: tJsonb, set: true},
	{op: docstore.OpDropIndex, params: []param{pColl, {"name", tText, ""}}, ret: tBool, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error { cmd.Name = a.text("name"); return nil }, answer: answerBool},
	{op: docstore.OpTextSearch, params: []param{pColl, {"query", tText, ""}, {"take", tInt, "10::bigint"}, pFilter}, ret: sqltypes.OIDRecord, set: true,
		out: scored, row: scoredRow,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Search, cmd.Take, cmd.Filter = a.text("query"), a.count("take", -1), a.json("filter")
			return nil
		}},
	{op: docstore.OpVectorSearch, params: []param{pColl, {"field", tText, ""}, {"vector", tJsonb, ""}, {"take", tInt, "10::bigint"},
		{"metric", tText, "'cosine'::text"}, pFilter}, ret: sqltypes.OIDRecord, set: true, out: scored, row: scoredRow,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Field, cmd.Vector, cmd.Metric = a.text("field"), a.must("vector"), a.text("metric")
			cmd.Take, cmd.Filter = a.count("take", -1), a.json("filter")
			return nil
		}},
	{op: docstore.OpFindForUpdate, params: []param{pColl, pFilter, pSort, pSkip, pTake, pProj, {"nowait", tBool, "false"}, {"skip_locked", tBool, "false"}},
		ret: tJsonb, set: true, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			switch {
			case a.flag("nowait") && a.flag("skip_locked"):
				return pgerror.New(pgerror.InvalidParameterValue, "nowait and skip_locked exclude each other")
			case a.flag("nowait"):
				cmd.LockWait = engine.WaitError
			case a.flag("skip_locked"):
				cmd.LockWait = engine.WaitSkip
			}
			return fillFind(a, cmd)
		}},
	{op: docstore.OpWatch, params: []param{pColl, {"resume_after", tText, "NULL::text"}, {"take", tInt, "100::bigint"}, {"max_await", tInt, "0::bigint"}, pFilter},
		ret: tJsonb, set: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			cmd.Name, cmd.Take, cmd.Filter = a.text("resume_after"), a.count("take", 100), a.json("filter")
			cmd.Wait = time.Duration(min(a.count("max_await", 0), 600_000)) * time.Millisecond
			return nil
		}},
	{op: docstore.OpStats, params: []param{pColl}, ret: tJsonb, answer: answerValue},
	{op: docstore.OpCompact, params: []param{pColl}, ret: tJsonb, writes: true, answer: answerValue},
	{op: docstore.OpExpire, params: []param{pColl}, ret: tInt, writes: true,
		answer: func(res *docstore.Result) (sqltypes.Datum, error) { return sqltypes.Int(res.Deleted), nil }},
	{op: docstore.OpExplain, params: []param{pColl, pFilter, pSort, pSkip, pTake, pProj}, ret: tText, set: true, fill: fillFind,
		row: func(doc docstore.JSON) []sqltypes.Datum { return []sqltypes.Datum{sqltypes.Text(doc.Str())} }},
	{op: docstore.OpRecordChanges, params: []param{pColl, {"on", tBool, "true"}, {"keep_seconds", tInt, "NULL::bigint"}, {"keep_changes", tInt, "NULL::bigint"},
		{"before", tBool, "false"}}, ret: tBool, writes: true,
		fill: func(a *arguments, cmd *docstore.Command) error {
			pairs := []sqltypes.JSONPair{{Key: "on", Value: sqltypes.JSONBoolOf(a.flag("on"))}, {Key: "before", Value: sqltypes.JSONBoolOf(a.flag("before"))}}
			for _, name := range []string{"keep_seconds", "keep_changes"} {
				if d := a.get(name); !d.Null {
					pairs = append(pairs, sqltypes.JSONPair{Key: name, Value: sqltypes.JSONNumberOf(sqltypes.NumericInt(d.I))})
				}
			}
			cmd.Options = sqltypes.JSONObjectOf(pairs)
			return nil
		}, answer: answerBool},
}

// scored are the columns of a search.
var scored = []param{{"doc", tJsonb, ""}, {"score", sqltypes.OIDFloat8, ""}}

func scoredRow(doc docstore.JSON) []sqltypes.Datum {
	d, _ := doc.Lookup("doc")
	s, _ := doc.Lookup("score")
	f := 0.0
	if s.Kind() == sqltypes.JSONNumber {
		f, _ = sqltypes.NumericToFloat(s.Number(), 64)
	}
	return []sqltypes.Datum{d.Datum(), sqltypes.Float(f)}
}

func fillFind(a *arguments, cmd *docstore.Command) error {
	cmd.Filter, cmd.Sort, cmd.Projection = a.json("filter"), a.ordered("sort", true), a.json("projection")
	cmd.Skip, cmd.Take = a.count("skip", 0), a.count("take", -1)
	return nil
}

func fillUpdate(a *arguments, cmd *docstore.Command) error {
	cmd.Filter, cmd.Update, cmd.ArrayFilters = a.must("filter"), a.must("update"), a.json("array_filters")
	return nil
}

func fillIndex(a *arguments, cmd *docstore.Command) error {
	pairs := []sqltypes.JSONPair{{Key: "fields", Value: a.ordered("fields", true)},
		{Key: "unique", Value: sqltypes.JSONBoolOf(a.flag("unique"))}, {Key: "sparse", Value: sqltypes.JSONBoolOf(a.flag("sparse"))}}
	if pairs[0].Value.IsZero() {
		// A path alone may be given as text that is not JSON.
		return a.orNull("fields")
	}
	if n := a.get("name"); !n.Null {
		pairs = append(pairs, sqltypes.JSONPair{Key: "name", Value: sqltypes.JSONStringOf(n.S)})
	}
	if p := a.json("partial"); !p.IsZero() {
		pairs = append(pairs, sqltypes.JSONPair{Key: "partial", Value: p})
	}
	if e := a.get("expire_after"); !e.Null {
		pairs = append(pairs, sqltypes.JSONPair{Key: "expire_after", Value: sqltypes.JSONNumberOf(sqltypes.NumericInt(e.I))})
	}
	var err error
	cmd.Index, err = docstore.ParseIndexSpec(sqltypes.JSONObjectOf(pairs))
	return err
}

// orNull is the error that was met reading an argument, or that it is NULL.
func (a *arguments) orNull(name string) error {
	if a.err != nil {
		return a.err
	}
	return pgerror.New(pgerror.NullValueNotAllowed, "%q must not be null", name)
}

func answerIDs(res *docstore.Result) (sqltypes.Datum, error) {
	return sqltypes.JSONArrayOf(res.IDs).Datum(), nil
}

// answerValue is the value, SQL NULL when there is none.
func answerValue(res *docstore.Result) (sqltypes.Datum, error) {
	if res.Value.IsZero() {
		return sqltypes.Null, nil
	}
	return res.Value.Datum(), nil
}

func answerBool(res *docstore.Result) (sqltypes.Datum, error) {
	return sqltypes.Bool(!res.Value.IsZero() && res.Value.Bool()), nil
}

// answerCounts tells what a write did.
func answerCounts(res *docstore.Result) (sqltypes.Datum, error) {
	n := func(v int64) docstore.JSON { return sqltypes.JSONNumberOf(sqltypes.NumericInt(v)) }
	pairs := []sqltypes.JSONPair{{Key: "matched", Value: n(res.Matched)}, {Key: "modified", Value: n(res.Modified)}, {Key: "upserted", Value: n(res.Upserted)}}
	if res.Inserted > 0 {
		pairs = append(pairs, sqltypes.JSONPair{Key: "inserted", Value: n(res.Inserted)})
	}
	if res.Upserted > 0 && len(res.IDs) == 1 {
		pairs = append(pairs, sqltypes.JSONPair{Key: "upserted_id", Value: res.IDs[0]})
	}
	return sqltypes.JSONObjectOf(pairs).Datum(), nil
}
