package shardrouter

import (
	"strings"

	"ostraka/docstore"
	"ostraka/sqltypes"
)

// Function is a doc function as a front end without a session of its own calls it.
type Function struct{ f *docFunc }

// Param is a parameter, or a column of an answer.
type Param struct {
	Name string
	Type sqltypes.OID
	// Must says that there is no default; Default is it otherwise.
	Must    bool
	Default sqltypes.Datum
}

// FunctionNamed finds the doc function of a name.
func FunctionNamed(name string) (Function, bool) {
	for i := range docFuncs {
		f := &docFuncs[i]
		if f.name == name || f.name == "" && f.op.String() == name {
			return Function{f}, true
		}
	}
	return Function{}, false
}

// Name is the function's name, Op what it does.
func (f Function) Name() string {
	if f.f.name != "" {
		return f.f.name
	}
	return f.f.op.String()
}
func (f Function) Op() docstore.Op { return f.f.op }

// Set reports a function that returns rows, Writes one that may write.
func (f Function) Set() bool    { return f.f.set }
func (f Function) Writes() bool { return f.f.writes }

// Collection reports that the first parameter names the collection.
func (f Function) Collection() bool {
	return len(f.f.params) > 0 && (f.f.params[0].name == pColl.name || f.f.op == docstore.OpCreateCollection || f.f.op == docstore.OpDropCollection)
}

// Params are the parameters in order.
func (f Function) Params() []Param {
	out := make([]Param, len(f.f.params))
	for i, p := range f.f.params {
		out[i] = Param{Name: p.name, Type: p.typ, Must: p.def == "", Default: defaultOf(p)}
	}
	return out
}

// defaultOf evaluates a default's SQL text, a literal with or without a cast.
func defaultOf(p param) sqltypes.Datum {
	text, _, _ := strings.Cut(p.def, "::")
	if text == "" || text == "NULL" {
		return sqltypes.Null
	}
	d, err := sqltypes.TypeByOID(p.typ).In(nil, strings.Trim(text, "'"), -1)
	if err != nil {
		return sqltypes.Null
	}
	return d
}

// Columns are the columns of the answer; Scalar says that it is one value without a name of its own.
func (f Function) Columns() (cols []Param, scalar bool) {
	if f.f.out == nil {
		return []Param{{Name: f.Name(), Type: f.f.ret}}, true
	}
	for _, p := range f.f.out {
		cols = append(cols, Param{Name: p.name, Type: p.typ})
	}
	return cols, false
}

// Command decodes the arguments, one for each parameter.
func (f Function) Command(args []sqltypes.Datum) (*docstore.Command, error) {
	return f.f.command(nil, args)
}

// Answer is the value of a function that is not a set; Row are the columns of one of its documents otherwise.
func (f Function) Answer(res *docstore.Result) (sqltypes.Datum, error) { return f.f.answer(res) }

func (f Function) Row(doc docstore.JSON) []sqltypes.Datum {
	if f.f.row == nil {
		return []sqltypes.Datum{doc.Datum()}
	}
	return f.f.row(doc)
}
