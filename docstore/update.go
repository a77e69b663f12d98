package docstore

import (
	"context"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Update is a compiled update: operators in the order they are applied, a pipeline,
// or a whole document that replaces the old one.
type Update struct {
	ops     []updateOp
	stages  []eachStage // of a pipeline
	replace JSON
	filter  *Filter
	now     time.Time
	ctx     context.Context
}

// updateOp changes one path.
type updateOp struct {
	path     *Path
	create   bool
	onInsert bool // $setOnInsert
	f        change
	rename   *Path // $rename: to here
}

// CompileUpdate reads update operators, a pipeline of stages or, with replace, a
// replacement; filters are array_filters. Errors: 22023, and 0A000 for operators
// that are not known.
func CompileUpdate(j JSON, replace bool, filters JSON) (*Update, error) {
	elements, err := compileArrayFilters(filters)
	if err != nil {
		return nil, err
	}
	if j.Kind() == sqltypes.JSONArray && !replace {
		u, err := compileUpdatePipeline(j)
		if err == nil {
			err = elements.allUsed()
		}
		return u, err
	}
	if j.Kind() != sqltypes.JSONObject {
		return nil, invalid("an update must be an object, not %s", kindName(j))
	}
	u := &Update{}
	if replace {
		u.replace = j
		if err := elements.allUsed(); err != nil {
			return nil, err
		}
		return u, checkFields(j)
	}
	if j.Len() == 0 {
		return nil, invalid("an update needs operators such as $set")
	}
	for _, p := range j.Pairs() {
		if !strings.HasPrefix(p.Key, "$") {
			return nil, invalid("an update consists of operators such as $set, not of fields (%q)", p.Key).
				WithHint("Use doc.replace_one to replace a whole document.")
		}
		if p.Value.Kind() != sqltypes.JSONObject {
			return nil, invalid("%s needs an object of fields", p.Key)
		}
		make, known := updateOperators[p.Key]
		if !known {
			return nil, pgerror.NotSupported("update operator %s", p.Key)
		}
		for _, arg := range p.Value.Pairs() {
			path, err := ParsePath(arg.Key)
			if err != nil {
				return nil, err
			}
			if err := elements.positional(path); err != nil {
				return nil, err
			}
			op := updateOp{path: path}
			if err := make(u, &op, arg.Value); err != nil {
				return nil, err
			}
			if err := u.add(op); err != nil {
				return nil, err
			}
		}
	}
	return u, elements.allUsed()
}

// updateStages are the stages that an update by a pipeline may have.
var updateStages = map[string]bool{"$set": true, "$addFields": true, "$unset": true, "$project": true, "$replaceRoot": true, "$replaceWith": true}

func compileUpdatePipeline(j JSON) (*Update, error) {
	list, err := stagesOf(j)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, invalid("an update by a pipeline needs stages")
	}
	for _, s := range list {
		name, _, err := stageName(s)
		if err != nil {
			return nil, err
		}
		if !updateStages[name] {
			return nil, pgerror.NotSupported("stage %s in an update", name)
		}
	}
	stages, err := compileStages(list, 0)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	for _, s := range stages {
		each, ok := s.(eachStage)
		if !ok {
			return nil, pgerror.New(pgerror.InternalError, "a stage of an update does not work on one document")
		}
		u.stages = append(u.stages, each)
	}
	return u, nil
}

// pipeline is Apply of a pipeline; the _id stays when it is not in what comes out.
func (u *Update) pipeline(doc JSON) (JSON, error) {
	env := &exprEnv{now: u.now, ctx: u.ctx}
	was := doc
	for _, f := range u.stages {
		env.root, env.current = doc, doc
		out, _, err := f(env, doc)
		if err != nil {
			return JSON{}, err
		}
		doc = out
	}
	id, had := was.Lookup("_id")
	if _, has := doc.Lookup("_id"); had && !has {
		doc = sqltypes.JSONObjectOf(append(doc.Pairs(), sqltypes.JSONPair{Key: "_id", Value: id}))
	}
	return doc, checkFields(doc)
}

// add refuses two operators on one path, or on a path and one inside it.
func (u *Update) add(op updateOp) error {
	for _, o := range u.ops {
		for _, a := range o.paths() {
			for _, b := range op.paths() {
				if a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".") {
					return invalid("updating the path %q would create a conflict at %q", b, a)
				}
			}
		}
	}
	u.ops = append(u.ops, op)
	return nil
}

func (o *updateOp) paths() []string {
	if o.rename != nil {
		return []string{o.path.Text, o.rename.Text}
	}
	return []string{o.path.Text}
}

// Apply returns the document after the update. insert: it is a new one.
func (u *Update) Apply(doc JSON, insert bool) (JSON, error) {
	if !u.replace.IsZero() {
		id, ok := doc.Lookup("_id")
		if _, has := u.replace.Lookup("_id"); has || !ok {
			return u.replace, nil
		}
		return sqltypes.JSONObjectOf(append(u.replace.Pairs(), sqltypes.JSONPair{Key: "_id", Value: id})), nil
	}
	if u.stages != nil {
		return u.pipeline(doc)
	}
	was := doc
	for i := range u.ops {
		op := &u.ops[i]
		if op.onInsert && !insert {
			continue
		}
		path, err := op.path.resolve(was, u.filter)
		switch {
		case err != nil:
		case op.rename != nil:
			doc, err = op.move(doc)
		default:
			doc, err = edit(doc, path, 0, op.create, op.f)
		}
		if err != nil {
			return JSON{}, err
		}
	}
	return doc, nil
}

// move is $rename.
func (o *updateOp) move(doc JSON) (JSON, error) {
	v, ok := o.path.Get(doc)
	if !ok {
		return doc, nil
	}
	doc, err := unsetPath(doc, o.path)
	if err != nil {
		return JSON{}, err
	}
	return setPath(doc, o.rename, v)
}
