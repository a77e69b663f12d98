package docstore

import (
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Update is a compiled update: operators in the order they are applied, or a
// whole document that replaces the old one.
type Update struct {
	ops     []updateOp
	replace JSON
	filter  *Filter
	now     time.Time
}

// updateOp changes one path.
type updateOp struct {
	path     *Path
	create   bool
	onInsert bool // $setOnInsert
	f        change
	rename   *Path // $rename: to here
}

// CompileUpdate reads update operators or, with replace, a replacement. Errors:
// 22023, and 0A000 for operators that are not known.
func CompileUpdate(j JSON, replace bool) (*Update, error) {
	if j.Kind() == sqltypes.JSONArray && !replace {
		return nil, pgerror.NotSupported("an update by a pipeline")
	}
	if j.Kind() != sqltypes.JSONObject {
		return nil, invalid("an update must be an object, not %s", kindName(j))
	}
	u := &Update{}
	if replace {
		u.replace = j
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
			op := updateOp{path: path}
			if err := make(u, &op, arg.Value); err != nil {
				return nil, err
			}
			if err := u.add(op); err != nil {
				return nil, err
			}
		}
	}
	return u, nil
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
	for i := range u.ops {
		op := &u.ops[i]
		if op.onInsert && !insert {
			continue
		}
		var err error
		if op.rename != nil {
			doc, err = op.move(doc)
		} else {
			doc, err = edit(doc, op.path, 0, op.create, op.f)
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
