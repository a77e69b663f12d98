package session

import (
	"errors"

	"github.com/zeebo/xxh3"

	"ostraka/engine/catalog"
	"ostraka/pgfront/settings"
	"ostraka/planner"
	"ostraka/planner/cache"
	"ostraka/sqltypes"
)

// cachedPlans is the session's side of the shared plan cache.
type cachedPlans struct {
	scratch cache.Scratch
	// key fingerprints what plans depend on; valid for these versions.
	key         uint64
	keyed       bool
	planVersion uint64
	path        *sqltypes.OID
	role        sqltypes.OID
	portal      portal
	known       map[*planner.Plan]*prepared
}

// maxKnown bounds the plans for which a session keeps encoders.
const maxKnown = 512

// cacheUsable reports that the shared plans are right for the next statement: not
// in a failed block, not on a follower (where classes decide before plans), not
// when the transaction has a catalogue of its own.
func (s *Session) cacheUsable() bool {
	if s.deps.Cache == nil || s.tx.state == txFailed || s.tx.remote || !s.leads() || s.up != nil && s.pinned() {
		return false
	}
	return s.tx.txn == nil || s.tx.txn.Catalog() == s.deps.Engine.Catalog(s.client.Database)
}

func (s *Session) cacheKey(cat *catalog.Catalog) cache.Key {
	c := &s.cached
	path := s.searchPath(cat)
	if !c.keyed || c.planVersion != s.set.PlanVersion || c.path != &path[0] || c.role != s.role.OID {
		h := xxh3.New()
		put := func(v string) { _, _ = h.WriteString(v); _, _ = h.Write([]byte{0}) }
		put(sprintf("%d %d %d %v", s.client.Database, s.role.OID, s.tempOID, path))
		for _, d := range settings.All() {
			if d.Plan {
				if v, _ := s.set.Get(d.Name); v != d.Boot {
					put(d.Name)
					put(v)
				}
			}
		}
		c.key, c.keyed, c.planVersion, c.path, c.role = h.Sum64(), true, s.set.PlanVersion, &path[0], s.role.OID
	}
	return cache.Key{Session: c.key, Catalog: cat.Version}
}

var errReplan = errors.New("session: the catalogue moved on under a cached plan")

func cannotReplan(*portal, *catalog.Catalog) error { return errReplan }

// quick answers a statement from the plan cache. done is false when it must be
// parsed; nothing was sent or executed then.
func (s *Session) quick(sql string) (done bool, err error) {
	cat := s.catalog()
	if cat == nil {
		return false, nil
	}
	plan, args, ok := s.deps.Cache.Get(&s.cached.scratch, sql, s.cacheKey(cat), &s.env)
	if !ok {
		return false, nil
	}
	s.startTransaction()
	p := s.cached.known[plan]
	if p == nil {
		if s.cached.known == nil || len(s.cached.known) >= maxKnown {
			s.cached.known = map[*planner.Plan]*prepared{}
		}
		p = &prepared{stmt: &planner.Statement{Planned: true, Class: plan.Class}}
		p.setPlan(plan)
		s.cached.known[plan] = p
	}
	p.text, p.stmt.Text = sql, sql
	if err := s.awaitState(plan.Class); err != nil {
		return true, err
	}
	po := &s.cached.portal
	*po = portal{s: s, p: p, plan: plan, cols: p.cols, args: args, batch: po.batch}
	defer po.close()
	err = s.runSimple(po, true)
	if err == errReplan || s.lostLead(err) {
		return false, nil
	}
	return true, err
}

// learn plans a statement that the cache did not know and offers it the plan.
func (s *Session) learn(po *portal) error {
	p := po.p
	cat := s.catalog()
	plan, args, err := s.deps.Cache.Prepare(&s.cached.scratch, p.text, s.cacheKey(cat), s.planContext(cat, p.text, nil), p.stmt,
		func(pc *planner.Context, q *planner.Query, params []sqltypes.OID) (*planner.Plan, error) {
			plan, err := s.deps.Optimize(pc, q, params)
			if err == nil && plan.Early != nil {
				return nil, plan.Early // it is about to run
			}
			if err == nil && p.stmt.Class.Writes() {
				plan.Class = p.stmt.Class // a function that writes, or time series
			}
			return plan, err
		})
	if err != nil {
		return err
	}
	p.setPlan(plan)
	if args != nil {
		po.args = args
	} else {
		p.params = plan.Params
	}
	return nil
}
