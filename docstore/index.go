package docstore

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// IndexSpec says what an index is over.
type IndexSpec struct {
	Name   string // "" makes one of the fields: a_1_b_-1
	Fields []IndexField
	Unique bool
	// Sparse leaves out documents that have none of the fields.
	Sparse bool
	// Partial leaves out documents that do not match the filter.
	Partial JSON
	// ExpireAfter is the age in seconds at which a document goes; negative: never.
	ExpireAfter int64
	// Text: the fields' words are the keys.
	Text bool
}

// IndexField is one field of an index.
type IndexField struct {
	Path string
	Desc bool
}

// Index is an index of a collection, compiled.
type Index struct {
	Spec    IndexSpec
	Ix      *catalog.Index
	paths   []*Path
	partial *Filter // nil: all documents
}

const (
	idIndexName = "_id_"
	specOption  = "spec="
	// maxKeys bounds the keys of one document in one index.
	maxKeys = 10000
)

// JSON is the specification as list_indexes shows it.
func (s *IndexSpec) JSON() JSON {
	fields := make([]JSON, len(s.Fields))
	for i, f := range s.Fields {
		dir := int64(1)
		if f.Desc {
			dir = -1
		}
		d := intJSON(dir)
		if s.Text {
			d = sqltypes.JSONStringOf("text")
		}
		fields[i] = sqltypes.JSONArrayOf([]JSON{sqltypes.JSONStringOf(f.Path), d})
	}
	pairs := []sqltypes.JSONPair{{Key: "name", Value: sqltypes.JSONStringOf(s.Name)}, {Key: "fields", Value: sqltypes.JSONArrayOf(fields)}}
	flag := func(name string, on bool) {
		if on {
			pairs = append(pairs, sqltypes.JSONPair{Key: name, Value: sqltypes.JSONBoolOf(true)})
		}
	}
	flag("unique", s.Unique)
	flag("sparse", s.Sparse)
	if !s.Partial.IsZero() {
		pairs = append(pairs, sqltypes.JSONPair{Key: "partial", Value: s.Partial})
	}
	if s.ExpireAfter >= 0 {
		pairs = append(pairs, sqltypes.JSONPair{Key: "expire_after", Value: intJSON(s.ExpireAfter)})
	}
	return sqltypes.JSONObjectOf(pairs)
}

// ParseIndexSpec reads what JSON prints; fields may also be an object
// ({"a": 1}, one field in stored order per member), a path, or a list of paths.
func ParseIndexSpec(j JSON) (*IndexSpec, error) {
	s := &IndexSpec{ExpireAfter: -1}
	if j.Kind() != sqltypes.JSONObject {
		return nil, invalid("an index specification must be an object")
	}
	for _, p := range j.Pairs() {
		if p.Value.Kind() == sqltypes.JSONNull {
			continue
		}
		switch p.Key {
		case "name":
			s.Name = textOf(p.Value)
		case "fields", "key":
			if err := s.parseFields(p.Value); err != nil {
				return nil, err
			}
		case "unique":
			s.Unique = truthy(p.Value)
		case "sparse":
			s.Sparse = truthy(p.Value)
		case "partial":
			s.Partial = p.Value
		case "expire_after":
			n, err := wholeNumber("expire_after", p.Value)
			if err != nil {
				return nil, err
			}
			if n < 0 {
				return nil, invalid("expire_after may not be negative")
			}
			s.ExpireAfter = n
		default:
			return nil, pgerror.NotSupported("index option %q", p.Key)
		}
	}
	return s, s.check()
}

func textOf(j JSON) string {
	if j.Kind() == sqltypes.JSONString {
		return j.Str()
	}
	return j.String()
}

func (s *IndexSpec) parseFields(v JSON) error {
	text := 0
	add := func(path string, dir JSON) error {
		f := IndexField{Path: path}
		switch {
		case dir.IsZero():
		case dir.Kind() == sqltypes.JSONString && dir.Str() == "text":
			text++
		case dir.Kind() == sqltypes.JSONString:
			return pgerror.NotSupported("index type %q", dir.Str())
		case dir.Kind() != sqltypes.JSONNumber || sqltypes.NumericSign(dir.Number()) == 0:
			return invalid("the direction of field %q must be 1, -1 or \"text\"", path)
		default:
			f.Desc = sqltypes.NumericSign(dir.Number()) < 0
		}
		s.Fields = append(s.Fields, f)
		return nil
	}
	switch v.Kind() {
	case sqltypes.JSONString:
		return add(v.Str(), JSON{})
	case sqltypes.JSONObject:
		for _, p := range v.Pairs() {
			if err := add(p.Key, p.Value); err != nil {
				return err
			}
		}
	case sqltypes.JSONArray:
		for _, e := range v.Elems() {
			var err error
			switch {
			case e.Kind() == sqltypes.JSONString:
				err = add(e.Str(), JSON{})
			case e.Kind() == sqltypes.JSONArray && e.Len() == 2 && e.Index(0).Kind() == sqltypes.JSONString:
				err = add(e.Index(0).Str(), e.Index(1))
			case e.Kind() == sqltypes.JSONObject && e.Len() == 1:
				err = add(e.Key(0), e.Value(0))
			default:
				err = invalid("an index field is a path or [path, direction]")
			}
			if err != nil {
				return err
			}
		}
	default:
		return invalid("the fields of an index are a path, an object or an array")
	}
	if text > 0 {
		if text != len(s.Fields) {
			return pgerror.NotSupported("an index over text and other fields")
		}
		s.Text = true
	}
	return nil
}

const maxIndexFields = 32

func (s *IndexSpec) check() error {
	if len(s.Fields) == 0 || len(s.Fields) > maxIndexFields {
		return invalid("an index has 1 to %d fields", maxIndexFields)
	}
	for i, f := range s.Fields {
		if _, err := ParsePath(f.Path); err != nil {
			return err
		}
		for _, g := range s.Fields[:i] {
			if f.Path == g.Path {
				return invalid("field %q is in the index twice", f.Path)
			}
		}
	}
	if s.ExpireAfter >= 0 && (len(s.Fields) != 1 || s.Text || s.Fields[0].Path == "_id") {
		return invalid("an index with expire_after has one field, not _id")
	}
	if s.Text && (s.Unique || s.Sparse) {
		return invalid("a text index cannot be unique or sparse")
	}
	if s.Name == "" {
		var b strings.Builder
		for i, f := range s.Fields {
			if i > 0 {
				b.WriteByte('_')
			}
			b.WriteString(f.Path)
			switch {
			case s.Text:
				b.WriteString("_text")
			case f.Desc:
				b.WriteString("_-1")
			default:
				b.WriteString("_1")
			}
		}
		s.Name = b.String()
	}
	if len(s.Name) > maxNameLen {
		return invalid("an index's name has at most %d bytes", maxNameLen)
	}
	if !s.Partial.IsZero() {
		f, err := CompileFilter(s.Partial)
		if err != nil {
			return err
		}
		if f.env != nil {
			return pgerror.NotSupported("$expr in the filter of a partial index")
		}
	}
	return nil
}

func openIndex(rel *catalog.Relation, ix *catalog.Index) (*Index, error) {
	for _, o := range ix.Options {
		text, ok := strings.CutPrefix(o, specOption)
		if !ok {
			continue
		}
		j, err := sqltypes.ParseJSONB(text)
		if err != nil {
			return nil, err
		}
		spec, err := ParseIndexSpec(j)
		if err != nil {
			return nil, err
		}
		x := &Index{Spec: *spec, Ix: ix}
		for _, f := range spec.Fields {
			p, err := ParsePath(f.Path)
			if err != nil {
				return nil, err
			}
			x.paths = append(x.paths, p)
		}
		if !spec.Partial.IsZero() {
			if x.partial, err = CompileFilter(spec.Partial); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	return nil, pgerror.New(pgerror.DataCorrupted, "index %q of collection %q has no specification", ix.Name, rel.Name)
}

// descriptor is the index as the engine keeps it.
func (s *IndexSpec) descriptor(rel *catalog.Relation, oid sqltypes.OID, storage uint64) *catalog.Index {
	ix := &catalog.Index{OID: oid, Name: rel.Name + "." + s.Name, Schema: rel.Schema, Owner: rel.Owner, Method: "btree", Unique: s.Unique,
		StorageID: storage, Ready: true, Options: []string{specOption + s.JSON().String()}}
	bytea := sqltypes.ColumnType{OID: sqltypes.OIDBytea, TypMod: -1}
	fields := s.Fields
	if s.Text {
		fields = fields[:1]
	}
	for _, f := range fields {
		ix.Keys = append(ix.Keys, catalog.IndexKey{Expr: f.Path, Type: bytea, Desc: f.Desc && !s.Text})
	}
	return ix
}

// keys are a document's keys in the index.
func (x *Index) keys(doc JSON, rowKey string) ([][]sqltypes.Datum, error) {
	if x.partial != nil {
		if ok, err := x.partial.Match(doc); !ok || err != nil {
			return nil, err
		}
	}
	if x.Spec.Text {
		return x.words(doc), nil
	}
	if len(x.paths) == 1 {
		if v, ok := x.paths[0].scalar(doc); ok {
			return [][]sqltypes.Datum{{keyDatum(v)}}, nil
		}
	}
	cols := make([][]sqltypes.Datum, len(x.paths))
	total, present := 1, false
	for i, p := range x.paths {
		var c collector
		p.any(doc, 0, &c)
		present = present || len(c.vals) > 0 || c.empty
		if c.missing {
			c.vals = append(c.vals, JSON{})
		}
		if len(c.vals) > maxKeys {
			return nil, x.tooMany()
		}
		for _, v := range c.vals {
			cols[i] = append(cols[i], keyDatum(v))
		}
		if c.empty || len(c.vals) == 0 {
			cols[i] = append(cols[i], sqltypes.Bytes([]byte{byte(ClassEmpty)}))
		}
		slices.SortFunc(cols[i], func(a, b sqltypes.Datum) int { return strings.Compare(a.S, b.S) })
		cols[i] = slices.CompactFunc(cols[i], func(a, b sqltypes.Datum) bool { return a.S == b.S })
		if total *= len(cols[i]); total > maxKeys {
			return nil, x.tooMany()
		}
	}
	if x.Spec.Sparse && !present {
		return nil, nil
	}
	out := make([][]sqltypes.Datum, 1, total+1)
	for _, col := range cols {
		var next [][]sqltypes.Datum
		for _, k := range out {
			for _, v := range col {
				next = append(next, append(k[:len(k):len(k)], v))
			}
		}
		out = next
	}
	if len(out) > 1 {
		marker := make([]sqltypes.Datum, len(cols))
		for i := range marker {
			marker[i] = sqltypes.Null
		}
		marker[0] = sqltypes.Text(string([]byte{keyMarker}) + rowKey)
		out = append(out, marker)
	}
	return out, nil
}

func (x *Index) tooMany() error {
	return pgerror.New(pgerror.ProgramLimitExceeded, "a document has more than %d keys in index %q", maxKeys, x.Spec.Name)
}

// scalar is the value of a path that leads through objects to no array; ok is
// false for anything else, a missing field too.
func (p *Path) scalar(doc JSON) (JSON, bool) {
	v, ok := p.Get(doc)
	return v, ok && v.Kind() != sqltypes.JSONArray
}
