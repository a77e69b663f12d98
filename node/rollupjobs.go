package node

import (
	"math"
	"sync"
	"time"

	"ostraka/engine/catalog"
	"ostraka/exec/ddl"
	"ostraka/exec/syscat"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rollupTick is how often refresh policies are looked at.
const rollupTick = time.Second

// jobKey names a policy: 'f' refreshes a continuous aggregate, 'd' drops old windows.
type jobKey struct {
	relation sqltypes.OID
	kind     byte
}

// jobState is what a policy has done on this node since it started.
type jobState struct {
	last, next     int64 // µs since 2000; 0: not yet
	runs, failures int64
	err            string
}

// seriesJobs remembers the runs of policies.
type seriesJobs struct {
	mu    sync.Mutex
	state map[jobKey]jobState // guarded by mu
}

func (j *seriesJobs) get(k jobKey) jobState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state[k]
}

func (j *seriesJobs) ran(k jobKey, at, every int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == nil {
		j.state = map[jobKey]jobState{}
	}
	s := j.state[k]
	s.last, s.next, s.err = at, at+every, ""
	s.runs++
	if err != nil {
		s.failures++
		s.err = err.Error()
	}
	j.state[k] = s
}

// rollup is a continuous aggregate in its database.
type rollup struct {
	database sqltypes.OID
	view     *catalog.Relation
}

func (n *Node) rollups() []rollup {
	var out []rollup
	first := n.shard.Catalog(catalog.PostgresDB)
	if first == nil {
		return nil
	}
	first.AllDatabases(func(d *catalog.Database) bool {
		if cat := n.shard.Catalog(d.OID); cat != nil {
			cat.AllRelations(func(r *catalog.Relation) bool {
				if r.Rollup != nil {
					out = append(out, rollup{d.OID, r})
				}
				return true
			})
		}
		return true
	})
	return out
}

// followPolicies refreshes continuous aggregates by their policies.
func (n *Node) followPolicies() {
	if n.Ready() != nil {
		return
	}
	for _, r := range n.rollups() {
		p := r.view.Rollup.Policy
		k := jobKey{r.view.OID, 'f'}
		now := n.nowUsec()
		if p == nil || n.jobs.get(k).next > now || n.ctx.Err() != nil {
			continue
		}
		err := n.runPolicy(r, now)
		n.jobs.ran(k, now, p.Every, err)
		if err != nil && n.ctx.Err() == nil {
			n.log.Warn("refresh of a continuous aggregate", "relation", r.view.Name, "error", err)
		}
	}
}

func (n *Node) nowUsec() int64 { return n.cfg.now().UnixMicro() - unix2000*1_000_000 }

// runPolicy refreshes what the policy says, as of now.
func (n *Node) runPolicy(r rollup, now int64) error {
	p := r.view.Rollup.Policy
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for _, b := range []struct {
		offset *sqltypes.Interval
		to     *int64
	}{{p.Start, &lo}, {p.End, &hi}} {
		if b.offset == nil {
			continue
		}
		minus := sqltypes.ProcByOID(procMinusInterval)
		env := &sqltypes.Env{Ctx: n.ctx, Formats: sqltypes.DefaultFormats()}
		d, err := minus.Fn(&sqltypes.Call{Env: env, Proc: minus}, []sqltypes.Datum{sqltypes.Int(now), sqltypes.MakeInterval(*b.offset)})
		if err != nil {
			return err
		}
		*b.to = d.I
	}
	_, err := n.refreshRollup(n.ctx, r.database, r.view, lo, hi)
	return err
}

// Policies, in TimescaleDB's calls. Each is part of a replicated descriptor, and
// every node follows it for the rows it has.
func init() {
	at := firstRollupProc + 10
	add := func(name string, ret sqltypes.OID, args []sqltypes.OID, names []string, defaults []string, f func(s ddlSession, c *sqltypes.Call, a []sqltypes.Datum) error) {
		sqltypes.RegisterProc(&sqltypes.Proc{OID: at, Name: name, Namespace: catalog.SchemaPgCatalog, Kind: 'f', Volatility: sqltypes.Volatile, ArgTypes: args, ArgNames: names,
			NumDefaults: len(defaults), Defaults: defaults, RetType: ret, Src: "ostraka_" + name, Cost: 1, Parallel: 'u', Writes: true,
			Fn: func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
				s, _, err := nodeOf(c)
				if err != nil {
					return sqltypes.Null, err
				}
				if a[0].Null {
					return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "relation cannot be NULL")
				}
				if s.Txn() == nil {
					return sqltypes.Null, pgerror.New(pgerror.InternalError, "%s outside of a transaction", name)
				}
				if err := f(ddlSession{s: s}, c, a); err != nil {
					return sqltypes.Null, err
				}
				if ret == sqltypes.OIDVoid {
					return sqltypes.Null, nil
				}
				return sqltypes.Int(int64(int32(a[0].I))), nil
			}})
		at++
	}
	iv, rel, flag := sqltypes.OIDInterval, sqltypes.OIDRegclass, sqltypes.OIDBool
	add("add_continuous_aggregate_policy", sqltypes.OIDInt4, []sqltypes.OID{rel, iv, iv, iv, flag},
		[]string{"continuous_aggregate", "start_offset", "end_offset", "schedule_interval", "if_not_exists"}, []string{"false"}, addRefreshPolicy)
	add("remove_continuous_aggregate_policy", sqltypes.OIDVoid, []sqltypes.OID{rel, flag}, []string{"continuous_aggregate", "if_exists"}, []string{"false"},
		func(s ddlSession, c *sqltypes.Call, a []sqltypes.Datum) error {
			return ddl.SetRollupPolicy(c.Env.Ctx, s, sqltypes.OID(a[0].I), func(old *catalog.RollupPolicy) (*catalog.RollupPolicy, error) {
				if old == nil {
					return nil, missingPolicy(s, a[1].True(), "continuous aggregate policy not found")
				}
				return nil, nil
			})
		})
	add("add_retention_policy", sqltypes.OIDInt4, []sqltypes.OID{rel, iv, flag}, []string{"relation", "drop_after", "if_not_exists"}, []string{"false"}, addRetention)
	add("remove_retention_policy", sqltypes.OIDVoid, []sqltypes.OID{rel, flag}, []string{"relation", "if_exists"}, []string{"false"},
		func(s ddlSession, c *sqltypes.Call, a []sqltypes.Datum) error {
			return ddl.SetRetention(c.Env.Ctx, s, sqltypes.OID(a[0].I), func(old int64) (int64, error) {
				if old == 0 {
					return 0, missingPolicy(s, a[1].True(), "retention policy not found")
				}
				return 0, nil
			})
		})
}

func missingPolicy(s ddlSession, ok bool, text string) error {
	if ok {
		s.Notice("NOTICE", pgerror.SuccessfulCompletion, text+", skipping")
		return nil
	}
	return pgerror.New(pgerror.UndefinedObject, "%s", text)
}

func addRefreshPolicy(s ddlSession, c *sqltypes.Call, a []sqltypes.Datum) error {
	p := &catalog.RollupPolicy{}
	for i, to := range []**sqltypes.Interval{&p.Start, &p.End} {
		if !a[i+1].Null {
			v := sqltypes.IntervalOf(a[i+1])
			*to = &v
		}
	}
	if a[3].Null {
		return pgerror.New(pgerror.InvalidParameterValue, "schedule interval cannot be NULL")
	}
	if p.Every = roughly(a[3]); p.Every <= 0 {
		return pgerror.New(pgerror.InvalidParameterValue, "schedule interval must be greater than 0")
	}
	if p.Start != nil && p.End != nil && roughly(a[1]) <= roughly(a[2]) {
		return pgerror.New(pgerror.InvalidParameterValue, "policy refresh window too small").WithDetail("The start and end offsets must cover at least one bucket.")
	}
	return ddl.SetRollupPolicy(c.Env.Ctx, s, sqltypes.OID(a[0].I), func(old *catalog.RollupPolicy) (*catalog.RollupPolicy, error) {
		view := s.Txn().Catalog().Relation(sqltypes.OID(a[0].I))
		switch {
		case old != nil && a[4].True():
			s.Notice("NOTICE", pgerror.SuccessfulCompletion, "continuous aggregate policy already exists for \""+view.Name+"\", skipping")
			return old, nil
		case old != nil:
			return nil, pgerror.New(pgerror.DuplicateObject, "continuous aggregate policy already exists for \"%s\"", view.Name)
		case view.Columns[view.Rollup.Bucket-1].Type.OID == sqltypes.OIDInt8:
			return nil, pgerror.NotSupported("a refresh policy of a continuous aggregate whose time is a bigint")
		}
		return p, nil
	})
}

func addRetention(s ddlSession, c *sqltypes.Call, a []sqltypes.Datum) error {
	if a[1].Null || roughly(a[1]) <= 0 {
		return pgerror.New(pgerror.InvalidParameterValue, "drop_after must be greater than 0")
	}
	return ddl.SetRetention(c.Env.Ctx, s, sqltypes.OID(a[0].I), func(old int64) (int64, error) {
		switch {
		case old != 0 && a[2].True():
			s.Notice("NOTICE", pgerror.SuccessfulCompletion, "retention policy already exists, skipping")
			return old, nil
		case old != 0:
			return 0, pgerror.New(pgerror.DuplicateObject, "retention policy already exists")
		}
		return roughly(a[1]), nil
	})
}

// Chunks are compressed from the start, so that TimescaleDB's policies of compression
// have nothing to do; they say so.
func init() {
	at := firstRollupProc + 20
	for _, f := range []struct {
		name, after string
		kind        byte
	}{{"add_compression_policy", "compress_after", 'f'}, {"add_columnstore_policy", "after", 'p'}} {
		ret := sqltypes.OIDInt4
		if f.kind == 'p' {
			ret = sqltypes.OIDVoid
		}
		sqltypes.RegisterProc(&sqltypes.Proc{OID: at, Name: f.name, Namespace: catalog.SchemaPgCatalog, Kind: f.kind, Volatility: sqltypes.Volatile,
			ArgTypes: []sqltypes.OID{sqltypes.OIDRegclass, sqltypes.OIDInterval, sqltypes.OIDBool}, ArgNames: []string{"hypertable", f.after, "if_not_exists"}, NumDefaults: 1, Defaults: []string{"false"},
			RetType: ret, Src: "ostraka_" + f.name, Cost: 1, Parallel: 'u', Node: true,
			Fn: func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
				s, _, err := nodeOf(c)
				if err != nil {
					return sqltypes.Null, err
				}
				rel := s.PlanContext().Catalog.Relation(sqltypes.OID(a[0].I))
				if a[0].Null || rel == nil || rel.TimeSeriesSpec() == nil && rel.Rollup == nil {
					return sqltypes.Null, pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a time-series table or continuous aggregate", a[0].I)
				}
				s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.SuccessfulCompletion, Message: "chunks of \"" + rel.Name + "\" are always compressed: there is nothing to schedule"})
				return sqltypes.Null, nil
			}})
		at++
	}
}

// roughly is an interval in µs, a year taken for 365 days and a month for 30.
func roughly(d sqltypes.Datum) int64 {
	v := sqltypes.IntervalOf(d)
	days := int64(v.Months)/12*365 + int64(v.Months)%12*30 + int64(v.Days)
	if days > 3_650_000 {
		return math.MaxInt64 / 4
	}
	return days*86_400_000_000 + v.Usec
}

// registerJobs adds ostraka.timeseries_jobs: the policies, and what they have done
// on this node.
func (n *Node) registerJobs(s *syscat.Set) {
	s.Add(&catalog.Relation{OID: 13949, Name: "timeseries_jobs", Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
		Columns: columns("node_id", sqltypes.OIDText, "job", sqltypes.OIDText, "relation", sqltypes.OIDRegclass, "relation_name", sqltypes.OIDText,
			"schedule", sqltypes.OIDInterval, "start_offset", sqltypes.OIDInterval, "end_offset", sqltypes.OIDInterval, "drop_after", sqltypes.OIDInterval,
			"last_run", sqltypes.OIDTimestamptz, "last_status", sqltypes.OIDText, "last_error", sqltypes.OIDText, "next_run", sqltypes.OIDTimestamptz,
			"runs", sqltypes.OIDInt8, "failures", sqltypes.OIDInt8)}, "ostraka", true,
		func(_ *syscat.Query, emit syscat.Emit) error {
			span := func(v *sqltypes.Interval) sqltypes.Datum {
				if v == nil {
					return sqltypes.Null
				}
				return sqltypes.MakeInterval(*v)
			}
			long := func(usec int64) sqltypes.Datum {
				return sqltypes.MakeInterval(sqltypes.Interval{Days: int32(usec / 86_400_000_000), Usec: usec % 86_400_000_000})
			}
			one := func(k jobKey, name string, every, start, end, after sqltypes.Datum) {
				st := n.jobs.get(k)
				at := func(t int64) sqltypes.Datum {
					if t == 0 {
						return sqltypes.Null
					}
					return sqltypes.Int(t)
				}
				status, text := sqltypes.Null, sqltypes.Null
				if st.runs > 0 {
					if status = sqltypes.Text("success"); st.err != "" {
						status, text = sqltypes.Text("failure"), sqltypes.Text(st.err)
					}
				}
				job := "refresh"
				if k.kind == 'd' {
					job = "retention"
				}
				emit(sqltypes.Text(n.cfg.NodeID), sqltypes.Text(job), oid(k.relation), sqltypes.Text(name), every, start, end, after,
					at(st.last), status, text, at(st.next), sqltypes.Int(st.runs), sqltypes.Int(st.failures))
			}
			stores := map[sqltypes.OID]*catalog.Relation{}
			for _, r := range n.rollups() {
				stores[r.view.Rollup.Store] = r.view
				if p := r.view.Rollup.Policy; p != nil {
					one(jobKey{r.view.OID, 'f'}, r.view.Name, long(p.Every), span(p.Start), span(p.End), sqltypes.Null)
				}
			}
			for _, rel := range n.series.Relations() {
				if rel.TS.Retention <= 0 {
					continue
				}
				shown := rel
				if v := stores[rel.OID]; v != nil {
					shown = v
				}
				one(jobKey{rel.OID, 'd'}, shown.Name, long(seriesMaintenance.Microseconds()), sqltypes.Null, sqltypes.Null, long(rel.TS.Retention))
			}
			return nil
		})
}
