package docstore

import (
	"encoding/hex"
	"slices"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// group is $group. Two more stages make it work over shards: $_groupPartial
// answers the accumulators' states, $_groupMerge merges them.
type group struct {
	id   expression
	accs []*accSpec
}

func parseGroup(arg JSON) (*group, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$group needs an object")
	}
	g := &group{}
	for _, p := range arg.Pairs() {
		var err error
		if p.Key == "_id" {
			if g.id, err = compileExpr(p.Value, nil); err != nil {
				return nil, err
			}
			continue
		}
		if strings.ContainsAny(p.Key, ".$") {
			return nil, invalid("the field name %q of $group may not contain . or $", p.Key)
		}
		a, err := parseAccumulator(p.Key, p.Value)
		if err != nil {
			return nil, err
		}
		g.accs = append(g.accs, a)
	}
	if g.id == nil {
		return nil, invalid("a group specification must include an _id")
	}
	return g, nil
}

// groupState is the groups so far.
type groupState struct {
	g     *group
	m     map[string]*oneGroup
	bytes int
}

type oneGroup struct {
	id   JSON
	accs []accumulator
}

func (s *groupState) find(id JSON) (*oneGroup, error) {
	var buf [64]byte
	key := AppendKey(buf[:0], id)
	if o := s.m[string(key)]; o != nil {
		return o, nil
	}
	o := &oneGroup{id: orNull(id), accs: make([]accumulator, len(s.g.accs))}
	for i, a := range s.g.accs {
		o.accs[i] = newAccumulator(a)
	}
	if s.bytes += 2*len(key) + 100 + 64*len(o.accs); s.bytes > maxMemory {
		return nil, errMemory("group")
	}
	s.m[string(key)] = o
	return o, nil
}

// add takes one document.
func (s *groupState) add(env *exprEnv) error {
	id, err := s.g.id.eval(env)
	if err != nil {
		return err
	}
	o, err := s.find(id)
	if err != nil {
		return err
	}
	for i, a := range s.g.accs {
		v, err := a.arg.eval(env)
		if err != nil {
			return err
		}
		if r, ok := o.accs[i].(*rankAcc); ok && a.sort != nil {
			err = r.rank(string(a.sort.SortKey(env.root)), v)
		} else {
			err = o.accs[i].add(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merge takes one answer of $_groupPartial.
func (s *groupState) merge(doc JSON) error {
	id, _ := doc.Lookup("_id")
	states, _ := doc.Lookup("p")
	if states.IsZero() || states.Len() != len(s.g.accs) {
		return pgerror.New(pgerror.InternalError, "a partial group does not fit its pipeline")
	}
	o, err := s.find(id)
	if err != nil {
		return err
	}
	for i := range o.accs {
		if err := o.accs[i].merge(states.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// answer lists the groups in the order of their _id: final values, or states.
func (s *groupState) answer(partial bool) ([]JSON, error) {
	keys := make([]string, 0, len(s.m))
	for k := range s.m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]JSON, 0, len(keys))
	for _, k := range keys {
		o := s.m[k]
		pairs := []sqltypes.JSONPair{{Key: "_id", Value: o.id}}
		var states []JSON
		for i, a := range o.accs {
			v, err := a.final, error(nil)
			if partial {
				v = a.state
			}
			j, err := v()
			if err != nil {
				return nil, err
			}
			if partial {
				states = append(states, j)
			} else {
				pairs = append(pairs, sqltypes.JSONPair{Key: s.g.accs[i].name, Value: j})
			}
		}
		if partial {
			pairs = append(pairs, sqltypes.JSONPair{Key: "p", Value: sqltypes.JSONArrayOf(states)})
		}
		out = append(out, sqltypes.JSONObjectOf(pairs))
	}
	return out, nil
}

func hexJSON(s string) JSON { return sqltypes.JSONStringOf(hex.EncodeToString([]byte(s))) }

func unhexJSON(j JSON) (string, error) {
	b, err := hex.DecodeString(j.Str())
	return string(b), err
}
