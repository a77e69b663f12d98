// Package cache keeps plans of simple-protocol statements that differ only in
// their literals: a small lexer turns the text into a key and its literals into
// parameters, in about a tenth of a microsecond and without allocating, so that
// nothing is parsed or planned on a hit.
//
// The promise is that a cached statement answers exactly as an uncached one
// would. Whatever is out of the ordinary is left to the ordinary way: scan gives
// up, a literal that may matter to the plan stays in the key by value (lift), and any
// error while binding or reading a literal makes the caller take the uncached way,
// which then raises it with its position.
//
// A Cache is safe for concurrent use; a Scratch belongs to one session.
package cache

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// Key is what a plan depends on besides the text.
type Key struct {
	// Session fingerprints role, database, search_path, TimeZone, DateStyle,
	// IntervalStyle, standard_conforming_strings and the planner's settings.
	Session uint64
	// Catalog is the catalogue version.
	Catalog uint64
}

// Scratch holds a session's buffers between statements.
type Scratch struct {
	key    []byte
	lits   []literal
	params []sqltypes.Datum
	ok     bool
	hash   uint64
}

// Cache is a bounded set of plans.
type Cache struct {
	shards [shardCount]shard
	limit  int // entries per shard

	Hits, Misses, Refused atomic.Uint64
}

const shardCount = 16

type shard struct {
	mu   sync.RWMutex
	byID map[uint64]*entry // guarded by mu
	ring []*entry          // guarded by mu: clock over all entries
	hand int
}

// entry is one text shape (with the values of the literals that stay).
type entry struct {
	id    uint64
	key   string
	sess  Key
	slots []slot
	// values are the texts of the literals that are not parameters, in order.
	values []string
	plan   *planner.Plan
	nparam int
	used   atomic.Bool
	// next are entries of the same shape with other values.
	next *entry
}

// New makes a cache of at most entries plans.
func New(entries int) *Cache {
	c := &Cache{limit: max(entries/shardCount, 1)}
	for i := range c.shards {
		c.shards[i].byID = make(map[uint64]*entry)
	}
	return c
}

// Get looks a statement up. On a hit it returns the plan and its parameters,
// which are valid until the scratch is used again. Strings among them may alias sql.
func (c *Cache) Get(s *Scratch, sql string, k Key, env *sqltypes.Env) (*planner.Plan, []sqltypes.Datum, bool) {
	s.key, s.lits, s.ok = scan(sql, s.key, s.lits)
	if !s.ok {
		c.Refused.Add(1)
		return nil, nil, false
	}
	s.hash = xxh3.HashSeed(s.key, k.Session)
	sh := &c.shards[s.hash%shardCount]
	sh.mu.RLock()
	e := sh.byID[s.hash]
	sh.mu.RUnlock()
	for ; e != nil; e = e.next {
		if e.sess != k || e.key != string(s.key) || !e.matches(sql, s.lits) {
			continue
		}
		if !e.read(s, sql, env) {
			break
		}
		if !e.used.Load() {
			e.used.Store(true)
		}
		c.Hits.Add(1)
		return e.plan, s.params, true
	}
	c.Misses.Add(1)
	return nil, nil, false
}

// matches compares the literals that are part of the key.
func (e *entry) matches(sql string, lits []literal) bool {
	v := 0
	for i := range e.slots {
		if e.slots[i].param != 0 {
			continue
		}
		if e.values[v] != sql[lits[i].start:lits[i].end] {
			return false
		}
		v++
	}
	return true
}

// read turns the literals into parameters; false when one cannot be read.
func (e *entry) read(s *Scratch, sql string, env *sqltypes.Env) bool {
	if cap(s.params) < e.nparam {
		s.params = make([]sqltypes.Datum, e.nparam)
	}
	s.params = s.params[:e.nparam]
	for i := range e.slots {
		sl := &e.slots[i]
		if sl.param == 0 {
			continue
		}
		d, ok := value(sql, s.lits[i], sl, env)
		if !ok {
			return false
		}
		s.params[sl.param-1] = d
	}
	return true
}

func value(sql string, l literal, sl *slot, env *sqltypes.Env) (sqltypes.Datum, bool) {
	text := sql[l.start:l.end]
	if l.class == classString {
		text = text[1 : len(text)-1]
		if l.escaped {
			text = strings.ReplaceAll(text, "''", "'")
		}
		switch sl.typ.OID {
		case sqltypes.OIDText, sqltypes.OIDVarchar:
			return sqltypes.Datum{S: text}, true
		}
		d, err := sl.typ.In(env, text, -1)
		return d, err == nil
	}
	if l.class == classNumeric {
		if sl.negate {
			text = "-" + text
		}
		d, err := sl.typ.In(env, text, -1)
		return d, err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return sqltypes.Datum{}, false
	}
	if sl.negate {
		n = -n
	}
	return sqltypes.Datum{I: n}, true
}

// Planner turns a bound query into a plan (the optimiser).
type Planner func(ctx *planner.Context, q *planner.Query, params []sqltypes.OID) (*planner.Plan, error)

// Prepare plans a statement after a miss of Get with the same scratch and sql,
// and keeps the plan if it may be kept. stmt is the only statement of sql. The
// plan takes the parameters returned with it.
func (c *Cache) Prepare(s *Scratch, sql string, k Key, ctx *planner.Context, stmt *planner.Statement, plan Planner) (*planner.Plan, []sqltypes.Datum, error) {
	if s.ok && stmt.Planned && len(ctx.ParamTypes) == 0 {
		if p, params := c.lifted(s, sql, k, ctx, stmt, plan, true); p != nil {
			return p, params, nil
		}
	}
	q, types, err := bind.Bind(ctx, stmt.AST)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan(ctx, q, types)
	if err != nil {
		return nil, nil, err
	}
	if s.ok && stmt.Planned && p.Cacheable && len(types) == 0 {
		// All literals by value.
		c.keep(&entry{id: s.hash, key: string(s.key), sess: k, slots: make([]slot, len(s.lits)), plan: p}, sql, s.lits)
	}
	return p, nil, nil
}

// lifted tries to plan with the literals as parameters; nil when that does not work.
func (c *Cache) lifted(s *Scratch, sql string, k Key, ctx *planner.Context, stmt *planner.Statement, plan Planner, keep bool) (*planner.Plan, []sqltypes.Datum) {
	tree := parse.Clone(stmt.AST)
	slots, declared := lift(tree, sql, s.lits)
	if len(declared) == 0 {
		return nil, nil
	}
	lctx := *ctx
	lctx.ParamTypes = declared
	q, types, err := bind.Bind(&lctx, tree)
	if err != nil || len(types) != len(declared) {
		return nil, nil
	}
	e := &entry{id: s.hash, key: string(s.key), sess: k, slots: slots, nparam: len(types)}
	for i := range slots {
		sl := &slots[i]
		if sl.param == 0 {
			continue
		}
		oid := types[sl.param-1]
		t := sqltypes.TypeByOID(oid)
		if t == nil {
			t = ctx.Catalog.Type(oid)
		}
		for t != nil && t.TypType == 'd' {
			t = t.Base
		}
		if t == nil || t.TypType == 'p' || isReg(t.OID) {
			return nil, nil
		}
		sl.typ = t
	}
	if !e.read(s, sql, ctx.Env) {
		return nil, nil
	}
	p, err := plan(&lctx, q, types)
	if err != nil {
		return nil, nil
	}
	e.plan = p
	if keep && p.Cacheable {
		c.keep(e, sql, s.lits)
	}
	return p, s.params
}

func isReg(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDRegclass, sqltypes.OIDRegtype, sqltypes.OIDRegproc, sqltypes.OIDRegprocedure, sqltypes.OIDRegoper,
		sqltypes.OIDRegoperator, sqltypes.OIDRegnamespace, sqltypes.OIDRegrole, sqltypes.OIDInterval:
		return true
	}
	return false
}

// maxSameShape bounds the entries of one shape that differ by value.
const maxSameShape = 32

// keep stores an entry, in place of older ones of the same shape and another catalogue.
func (c *Cache) keep(e *entry, sql string, lits []literal) {
	for i := range e.slots {
		if e.slots[i].param != 0 {
			continue
		}
		v := sql[lits[i].start:lits[i].end]
		if lits[i].class == classString && timeWord(v[1:]) {
			return
		}
		e.values = append(e.values, strings.Clone(v))
	}
	sh := &c.shards[e.id%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// Entries are immutable once visible: the chain is copied without the stale ones.
	n := 0
	var chain *entry
	for o := sh.byID[e.id]; o != nil && n < maxSameShape; o = o.next {
		if o.key != e.key || o.sess.Session != e.sess.Session || o.sess.Catalog != e.sess.Catalog || sameValues(o, e) {
			continue
		}
		cp := &entry{id: o.id, key: o.key, sess: o.sess, slots: o.slots, values: o.values, plan: o.plan, nparam: o.nparam, next: chain}
		chain = cp
		n++
	}
	e.next = chain
	if _, had := sh.byID[e.id]; !had {
		sh.ring = append(sh.ring, e)
		for len(sh.ring) > c.limit {
			sh.evict()
		}
	}
	sh.byID[e.id] = e
}

func sameValues(a, b *entry) bool {
	if len(a.values) != len(b.values) {
		return true
	}
	for i := range a.values {
		if a.values[i] != b.values[i] {
			return false
		}
	}
	return true
}

// evict drops one shape that was not used since the clock's hand passed last.
func (sh *shard) evict() {
	for tries := 0; tries < 2*len(sh.ring)+1; tries++ {
		if sh.hand >= len(sh.ring) {
			sh.hand = 0
		}
		e := sh.ring[sh.hand]
		if cur := sh.byID[e.id]; cur != nil && cur.used.Swap(false) {
			sh.hand++
			continue
		}
		delete(sh.byID, e.id)
		sh.ring[sh.hand] = sh.ring[len(sh.ring)-1]
		sh.ring = sh.ring[:len(sh.ring)-1]
		return
	}
}

// Len is the number of shapes kept.
func (c *Cache) Len() int {
	n := 0
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.RLock()
		n += len(sh.byID)
		sh.mu.RUnlock()
	}
	return n
}
