package node

import (
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// lookups answers the classifier's questions from a planning context.
type lookups struct {
	pc       *planner.Context
	prepared func(name string) (planner.Class, bool)
}

var _ parse.Lookups = lookups{}

// schemas are the schemas to look in.
func (l lookups) schemas(name string) []sqltypes.OID {
	if name == "" {
		return l.pc.SearchPath
	}
	if s := l.pc.Catalog.SchemaByName(name); s != nil {
		return []sqltypes.OID{s.OID}
	}
	return nil
}

// Function is the strongest effect of the functions that a name may mean. User
// functions run SQL: one that is not declared stable or immutable may write.
func (l lookups) Function(schema, name string) parse.Effect {
	eff := parse.EffectNone
	for _, s := range l.schemas(schema) {
		if s == catalog.SchemaPgCatalog || s == catalog.SchemaOstraka {
			for _, p := range sqltypes.ProcsByName(name) {
				switch {
				case p.Namespace != s || !p.Writes:
				case !p.Node:
					return parse.EffectWrite
				default:
					eff = parse.EffectNodeWrite
				}
			}
			continue
		}
		for _, f := range l.pc.Catalog.FunctionsByName(s, name) {
			if f.Volatility == sqltypes.Volatile {
				return parse.EffectWrite
			}
		}
	}
	return eff
}

func (l lookups) Relation(schema, name string) *catalog.Relation {
	for _, s := range l.schemas(schema) {
		if r := l.pc.Catalog.RelationByName(s, name); r != nil {
			return r
		}
	}
	return nil
}

func (l lookups) Prepared(name string) (planner.Class, bool) {
	if l.prepared == nil {
		return 0, false
	}
	return l.prepared(name)
}
