package plpgsql

import (
	"slices"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// TriggerCall is what a trigger function is told.
type TriggerCall struct {
	Name, When, Level, Op string
	Relation              sqltypes.OID
	Table, Schema         string
	Args                  []string
	// Row type of the table, and the rows; nil: there is none.
	Type     sqltypes.OID
	Columns  []sqltypes.Field
	Old, New []sqltypes.Datum
}

// triggerVars are the variables of a trigger function; old and new are records.
type triggerVars struct {
	vars       map[string]int
	old, newer int
}

func (p *parser) triggerVariables() {
	if p.f.Kind != 't' {
		return
	}
	col := func(oid sqltypes.OID) sqltypes.ColumnType { return sqltypes.ColumnType{OID: oid, TypMod: -1} }
	t := &p.f.trigger
	t.newer = p.variable("new", col(sqltypes.OIDRecord), 0)
	t.old = p.variable("old", col(sqltypes.OIDRecord), 0)
	t.vars = map[string]int{}
	for _, v := range []struct {
		name string
		typ  sqltypes.OID
	}{{"tg_name", sqltypes.OIDName}, {"tg_when", sqltypes.OIDText}, {"tg_level", sqltypes.OIDText}, {"tg_op", sqltypes.OIDText},
		{"tg_relid", sqltypes.OIDOid}, {"tg_relname", sqltypes.OIDName}, {"tg_table_name", sqltypes.OIDName}, {"tg_table_schema", sqltypes.OIDName},
		{"tg_nargs", sqltypes.OIDInt4}, {"tg_argv", sqltypes.OIDTextArray}} {
		t.vars[v.name] = p.variable(v.name, col(v.typ), 0)
	}
}

// setTrigger fills in the variables of a trigger function.
func (fr *frame) setTrigger() error {
	if fr.f.Kind != 't' {
		return nil
	}
	c := fr.trig
	if c == nil {
		return pgerror.New(pgerror.FeatureNotSupported, "trigger functions can only be called as triggers")
	}
	set := func(name string, d sqltypes.Datum) { fr.vars[fr.f.trigger.vars[name]].val = d }
	set("tg_name", sqltypes.Text(c.Name))
	set("tg_when", sqltypes.Text(c.When))
	set("tg_level", sqltypes.Text(c.Level))
	set("tg_op", sqltypes.Text(c.Op))
	set("tg_relid", sqltypes.Int(int64(c.Relation)))
	set("tg_relname", sqltypes.Text(c.Table))
	set("tg_table_name", sqltypes.Text(c.Table))
	set("tg_table_schema", sqltypes.Text(c.Schema))
	set("tg_nargs", sqltypes.Int(int64(len(c.Args))))
	args := make([]sqltypes.Datum, len(c.Args))
	for i, a := range c.Args {
		args[i] = sqltypes.Text(a)
	}
	if len(args) > 0 {
		set("tg_argv", sqltypes.MakeArray(sqltypes.TypeByOID(sqltypes.OIDText), []sqltypes.ArrayDim{{Len: int32(len(args)), Lower: 0}}, args))
	}
	row := func(vals []sqltypes.Datum) *record {
		r := &record{typ: c.Type, null: vals == nil}
		for i, f := range c.Columns {
			r.names, r.types = append(r.names, f.Name), append(r.types, f.ColumnType)
			if vals == nil {
				r.vals = append(r.vals, sqltypes.Null)
			} else {
				r.vals = append(r.vals, vals[i])
			}
		}
		return r
	}
	fr.vars[fr.f.trigger.newer].rec = row(c.New)
	fr.vars[fr.f.trigger.old].rec = row(c.Old)
	return nil
}

// Trigger runs a trigger function.
func (f *Function) Trigger(h Host, c *TriggerCall) (Result, error) {
	fr := &frame{h: h, f: f, vars: make([]variable, len(f.data)), atomic: true, trig: c}
	res, err := fr.call(nil)
	if err != nil {
		return res, fr.context(err)
	}
	return res, nil
}

// returnRow is RETURN of an expression in a trigger function.
func (fr *frame) returnRow(val sqltypes.Datum, typ sqltypes.ColumnType) error {
	if val.Null {
		return nil
	}
	r, err := fr.opened(val, typ)
	if err != nil {
		return err
	}
	fr.retRow = r
	return nil
}

// triggerResult is the row that a trigger returned, as one of its table.
func (fr *frame) triggerResult() (res Result, err error) {
	res.Value = sqltypes.Null
	r := fr.retRow
	if r == nil || fr.trig.Level == "STATEMENT" {
		return res, nil
	}
	if r.typ != fr.trig.Type {
		types := slices.Clone(r.types)
		if err := fr.matches(types, fr.trig.Columns, "returned row structure does not match the structure of the triggering table"); err != nil {
			return res, err
		}
	}
	res.Row = r.vals
	return res, nil
}

// ParseCondition makes a function of a trigger's WHEN, an expression over OLD and NEW.
func ParseCondition(text string, types Types) (*Function, error) {
	h := Header{Name: "when", Signature: "when", Kind: 't', Ret: sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}}
	f, err := Parse("BEGIN RETURN NULL; END", h, types)
	if err != nil {
		return nil, err
	}
	p := &parser{f: f, types: types, ns: &nsItem{kind: 'l'}}
	p.ns = &nsItem{kind: 'r', name: "new", datum: f.trigger.newer, prev: p.ns}
	p.ns = &nsItem{kind: 'r', name: "old", datum: f.trigger.old, prev: p.ns}
	f.when = p.query("SELECT "+text, text, true)
	return f, f.CheckSyntax()
}

// Condition evaluates the function made by ParseCondition.
func (f *Function) Condition(h Host, c *TriggerCall) (bool, error) {
	fr := &frame{h: h, f: f, vars: make([]variable, len(f.data)), atomic: true, trig: c}
	for i := range fr.vars {
		fr.vars[i].val = sqltypes.Null
	}
	if err := fr.setTrigger(); err != nil {
		return false, err
	}
	return fr.boolean(f.when)
}
