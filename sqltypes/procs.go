package sqltypes

import (
	"fmt"
	"strings"
	"sync"
)

// firstUserOID is FirstNormalObjectId: OIDs below belong to PostgreSQL's own
// rows and to Ostraka's.
const firstUserOID = 16384

// Ostraka's own functions have OIDs in [FirstOstrakaProc, LastOstrakaProc], a
// part of the range that PostgreSQL's releases leave free. An OID, once given, stays.
const (
	FirstOstrakaProc OID = 9000
	LastOstrakaProc  OID = 9999
)

// procTable is every built-in function, filled once.
type procTable struct {
	once   sync.Once
	mu     sync.Mutex // guards the registration maps and late registration
	all    []*Proc
	byOID  [firstUserOID]*Proc
	byName map[string][]*Proc
	// Registered implementations by key: prosrc, or "name(argtypes)" for
	// aggregates, window functions and SQL-language functions.
	scalars map[string]ScalarFunc
	sets    map[string]SetFunc
	aggs    map[string]Aggregate
	own     []*Proc
	loaded  bool
}

var procs = procTable{
	byName:  map[string][]*Proc{},
	scalars: make(map[string]ScalarFunc, 3000),
	sets:    map[string]SetFunc{},
	aggs:    map[string]Aggregate{},
}

// ProcByOID returns a built-in function, or nil.
func ProcByOID(oid OID) *Proc {
	procs.load()
	if oid >= firstUserOID {
		return nil
	}
	return procs.byOID[oid]
}

// ProcBySource returns a built-in function that is implemented by the C function of
// that name (prosrc), or nil.
func ProcBySource(src string) *Proc {
	procs.load()
	for _, p := range procs.all {
		if p.Src == src && (p.Lang == 12 || p.Lang == 0) {
			return p
		}
	}
	return nil
}

// ProcsByName returns the built-in functions of a name, of all schemas; the
// slice is shared and must not be changed.
func ProcsByName(name string) []*Proc {
	procs.load()
	return procs.byName[name]
}

// AllProcs returns every built-in function, PostgreSQL's in OID order, then
// Ostraka's; the slice is shared and must not be changed.
func AllProcs() []*Proc {
	procs.load()
	return procs.all
}

// RegisterScalar gives the functions whose key is src their implementation. A
// key is prosrc, the name of PostgreSQL's C function ("int4pl"), or for a
// function written in SQL its signature ("lpad(text,int4)").
// Registration belongs into init functions; a later one must come before the
// function can be called.
func RegisterScalar(src string, fn ScalarFunc) {
	procs.mu.Lock()
	defer procs.mu.Unlock()
	procs.scalars[src] = fn
	procs.rebind(src)
}

// RegisterSet is RegisterScalar for set-returning functions.
func RegisterSet(src string, fn SetFunc) {
	procs.mu.Lock()
	defer procs.mu.Unlock()
	procs.sets[src] = fn
	procs.rebind(src)
}

// RegisterAggregate gives the aggregate with that signature ("sum(int4)", type
// names as in pg_type) its behaviour. OrderedSet, NumDirect and Hypothetical come from pg_aggregate
// and are ignored here; SkipNull is set if agg or the catalogue's transition
// function asks for it.
func RegisterAggregate(signature string, agg Aggregate) {
	procs.mu.Lock()
	defer procs.mu.Unlock()
	procs.aggs[signature] = agg
	procs.rebind(signature)
}

// RegisterProc adds a function of Ostraka's own. Its OID must lie in the
// reserved range and be free, its Namespace be set; anything else is a
// programming error and panics.
func RegisterProc(p *Proc) {
	procs.mu.Lock()
	defer procs.mu.Unlock()
	if p.OID < FirstOstrakaProc || p.OID > LastOstrakaProc || procs.byOID[p.OID] != nil {
		panic(fmt.Sprintf("sqltypes: OID %d of function %s is outside the reserved range or taken", p.OID, p.Name))
	}
	procs.byOID[p.OID] = p
	procs.own = append(procs.own, p)
	if procs.loaded {
		procs.add(p)
	}
}

// rebind binds an implementation that was registered after the table was loaded.
func (t *procTable) rebind(key string) {
	if !t.loaded {
		return
	}
	for _, p := range t.all {
		if p.key == key {
			t.bind(p)
		}
	}
}

// bind copies the registered implementation of p's key into p.
func (t *procTable) bind(p *Proc) {
	switch {
	case p.Kind == 'a':
		if agg, ok := t.aggs[p.key]; ok {
			p.Agg.New = agg.New
			p.Agg.SkipNull = p.Agg.SkipNull || agg.SkipNull
		}
	case p.Kind == 'f' && p.RetSet:
		p.Set = t.sets[p.key]
	case p.Kind == 'f':
		p.Fn = t.scalars[p.key]
	}
	if _, ok := writingProcs[p.key]; ok {
		p.Writes = true
	}
	if _, ok := nodeProcs[p.key]; ok {
		p.Node = true
	}
}

func (t *procTable) add(p *Proc) {
	t.all = append(t.all, p)
	t.byName[p.Name] = append(t.byName[p.Name], p)
}

func (t *procTable) load() {
	t.once.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		store := make([]Proc, strings.Count(procFacts, "\n"))
		t.all = make([]*Proc, 0, len(store)+200)
		i := 0
		eachFact(procFacts, func(l *factLine) {
			p := &store[i]
			i++
			parseProc(l, p)
			t.byOID[p.OID] = p
			t.add(p)
		})
		loadAggregates(&t.byOID)
		for _, p := range t.all {
			t.bind(p)
		}
		for _, p := range t.own {
			t.add(p)
		}
		t.loaded = true
	})
}

func parseProc(l *factLine, p *Proc) {
	p.OID = l.oid()
	p.Name = l.str()
	p.Namespace = l.oid()
	p.Lang = l.oid()
	flags := l.str()
	p.Kind, p.Volatility, p.Parallel = flags[0], Volatility(flags[1]), flags[2]
	p.Strict, p.RetSet, p.Leakproof = flags[3] == '1', flags[4] == '1', flags[5] == '1'
	p.Cost = l.float()
	p.Rows = l.float()
	p.Variadic = l.oid()
	p.RetType = l.oid()
	p.ArgTypes = l.oids()
	p.AllArgTypes = l.oids()
	if modes := l.str(); modes != "" {
		p.ArgModes = []byte(modes)
	}
	if names := l.str(); names != "" {
		p.ArgNames = strings.Split(names, " ")
	}
	if defaults := l.str(); defaults != "" {
		p.Defaults = strings.Split(defaults, ", ")
		p.NumDefaults = len(p.Defaults)
	}
	p.Src = l.str()
	if p.key = l.str(); p.key == "" {
		p.key = p.Src
	}
}

// UnknownRegistrations lists the keys of registered implementations that no
// function of the table has; tests keep it empty.
func UnknownRegistrations() []string {
	procs.load()
	procs.mu.Lock()
	defer procs.mu.Unlock()
	known := make(map[string]bool, len(procs.all))
	for _, p := range procs.all {
		known[p.key] = true
	}
	var out []string
	for key := range procs.scalars {
		if !known[key] {
			out = append(out, key)
		}
	}
	for key := range procs.sets {
		if !known[key] {
			out = append(out, key)
		}
	}
	for key := range procs.aggs {
		if !known[key] {
			out = append(out, key)
		}
	}
	return out
}
