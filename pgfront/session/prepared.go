package session

import (
	"strconv"
	"time"

	"ostraka/engine/catalog"
	"ostraka/pgfront/settings"
	"ostraka/pgfront/stmtstats"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// prepared is a parsed statement with its plan: a protocol-level or SQL-level
// prepared statement, or one statement of a query string.
type prepared struct {
	name     string
	text     string             // the whole query string
	stmt     *planner.Statement // nil: an empty query
	declared []sqltypes.OID     // as the client gave them
	params   []sqltypes.OID     // as inferred
	cols     []planner.Column   // nil: returns no rows
	plan     *planner.Plan
	key      planKey
	fromSQL  bool
	at       time.Time
	// fixed: cols were told to a client and must not change.
	fixed bool
	body  *planner.FunctionBody // of a function that it stands in
	// late gives the values of a function's variables once the statement is bound.
	late    func() ([]sqltypes.Datum, error)
	atomic  bool // CALL in a function that may not end the transaction
	remote  bool // prepared in the upstream session, whose descriptions are relayed
	explain bool // planned to be shown
	// enc caches the encoder of all columns in one format (index 0 text, 1 binary).
	enc  [2]*rowEncoder
	uses int64
	// stats counts it (pg_stat_statements); nil: look it up.
	stats *stmtstats.Entry
}

// planKey is what a plan depends on besides the statement.
type planKey struct {
	// catalog is compared by identity: a transaction's own catalogue may have the
	// version of one that is committed later.
	catalog  *catalog.Catalog
	version  uint64
	settings uint64
	role     sqltypes.OID
}

func (s *Session) planKey(cat *catalog.Catalog) planKey {
	k := planKey{catalog: cat, settings: s.set.PlanVersion, role: s.role.OID}
	if cat != nil {
		k.version = cat.Version
	}
	return k
}

// pathCache is the resolved search_path.
type pathCache struct {
	valid   bool
	version uint64
	temp    sqltypes.OID
	oids    []sqltypes.OID
	names   []string
}

const pgCatalogOID sqltypes.OID = 11

// searchPath resolves search_path in the catalogue: pg_temp first when there is
// one, then pg_catalog unless it is listed, then the existing schemas listed.
func (s *Session) searchPath(cat *catalog.Catalog) []sqltypes.OID {
	version := uint64(0)
	if cat != nil {
		version = cat.Version
	}
	if s.path.valid && s.path.version == version && s.path.temp == s.tempOID {
		return s.path.oids
	}
	value, _ := s.set.Get("search_path")
	list, _ := settings.SplitIdentifiers(value)
	var oids []sqltypes.OID
	var names []string
	hasCatalog, hasTemp := false, false
	for _, name := range list {
		switch name {
		case "$user":
			name = s.role.Name
		case "pg_catalog":
			hasCatalog = true
			oids, names = append(oids, pgCatalogOID), append(names, name)
			continue
		case "pg_temp":
			hasTemp = true
			if s.tempOID != 0 {
				oids = append(oids, s.tempOID)
			}
			continue
		}
		if cat == nil {
			continue
		}
		if sc := cat.SchemaByName(name); sc != nil {
			oids, names = append(oids, sc.OID), append(names, name)
		}
	}
	var implicit []sqltypes.OID
	if !hasTemp && s.tempOID != 0 {
		implicit = append(implicit, s.tempOID)
	}
	if !hasCatalog {
		implicit = append(implicit, pgCatalogOID)
	}
	s.path = pathCache{valid: true, version: version, temp: s.tempOID, oids: append(implicit, oids...), names: names}
	return s.path.oids
}

// PlanContext is a planning context over the catalogue that the running statement sees.
func (s *Session) PlanContext() *planner.Context { return s.planContext(s.catalog(), "", nil) }

func (s *Session) planContext(cat *catalog.Catalog, source string, declared []sqltypes.OID) *planner.Context {
	pc := &planner.Context{Catalog: cat, Relations: s.deps.Relations, SearchPath: s.searchPath(cat), TempSchema: s.tempOID,
		Role: s.role.OID, Env: &s.env, Settings: s.plannerSettings(), ParamTypes: declared}
	if v, ok := s.set.Get("check_function_bodies"); ok {
		pc.SkipBodyCheck = v == "off"
	}
	if len(s.transitions) > 0 {
		pc.Relations = withTransitions{s.deps.Relations, s.transitions}
	}
	setSource(pc, source)
	return pc
}

func (s *Session) plannerSettings() planner.Settings {
	off := func(name string) bool { v, _ := s.set.Get(name); return v == "off" }
	num := func(name string) float64 {
		v, _ := s.set.Get(name)
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return planner.Settings{
		DisableSeqScan: off("enable_seqscan"), DisableIndexScan: off("enable_indexscan"), DisableHashJoin: off("enable_hashjoin"),
		DisableMergeJoin: off("enable_mergejoin"), DisableNestLoop: off("enable_nestloop"), DisableHashAgg: off("enable_hashagg"),
		DisableSort: off("enable_sort"), RowSecurityOff: off("row_security"), WorkMem: s.conf.workMem, JoinCollapseLimit: int(num("join_collapse_limit")),
		RandomPageCost: num("random_page_cost"), SeqPageCost: num("seq_page_cost"), CPUTupleCost: num("cpu_tuple_cost"),
		CPUIndexTupleCost: num("cpu_index_tuple_cost"), CPUOperatorCost: num("cpu_operator_cost"),
	}
}

// classify fills in where a statement may run.
func (s *Session) classify(cat *catalog.Catalog, stmt *planner.Statement, text string) {
	stmt.Class = s.deps.Planner.Classify(s.planContext(cat, text, nil), stmt, func(name string) (planner.Class, bool) {
		if p := s.stmts[name]; p != nil && p.stmt != nil && name != "" {
			return p.stmt.Class, true
		}
		return 0, false
	})
}

// analyze plans a planned statement (or finds a utility's columns) for the first time.
func (s *Session) analyze(p *prepared) error {
	cat := s.catalog()
	if !p.stmt.Planned {
		cols, params, err := s.utilityColumns(p)
		p.cols, p.params = cols, params
		return err
	}
	return s.compileOnly(p, cat)
}

func (s *Session) compile(p *prepared, cat *catalog.Catalog) error {
	if err := s.compileOnly(p, cat); err != nil {
		return err
	}
	return p.due()
}

// due is the error of a constant expression in a statement that is about to run.
func (p *prepared) due() error {
	if p.plan == nil {
		return nil
	}
	return p.plan.Early
}

// compileOnly plans a statement that is not to run yet.
func (s *Session) compileOnly(p *prepared, cat *catalog.Catalog) error {
	declared := p.declared
	if p.fixed {
		declared = p.params // parameter types do not change once told
	}
	pc := s.planContext(cat, p.text, declared)
	pc.Explain, pc.Body = p.explain, p.body
	plan, err := s.deps.Planner.Compile(pc, p.stmt)
	if err != nil {
		return err
	}
	if p.fixed && !sameColumns(p.cols, plan.Columns) {
		return pgerror.New(pgerror.FeatureNotSupported, "cached plan must not change result type")
	}
	if p.stmt.Class.Writes() && plan.Class != p.stmt.Class {
		c := *plan
		c.Class = p.stmt.Class // a function that writes, or time series
		plan = &c
	}
	p.setPlan(plan)
	p.key, p.params = s.planKey(cat), plan.Params
	return nil
}

// lateArgs are the values of the variables of the function that the statement stands
// in, else args.
func (p *prepared) lateArgs(args []sqltypes.Datum) ([]sqltypes.Datum, error) {
	if p.late == nil {
		return args, nil
	}
	return p.late()
}

// setPlan takes a plan and what it says about the result.
func (p *prepared) setPlan(plan *planner.Plan) {
	p.plan, p.cols = plan, nil
	if len(plan.Columns) > 0 || plan.Command == "SELECT" {
		p.cols = plan.Columns
		if p.cols == nil {
			p.cols = []planner.Column{}
		}
	}
	p.enc = [2]*rowEncoder{}
}

// sameColumns compares result types; names and origins may change.
func sameColumns(a, b []planner.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type.OID != b[i].Type.OID || a[i].Type.TypMod != b[i].Type.TypMod || a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

// refresh plans again when the catalogue or the settings moved on. Who is about to run it asks for due.
func (s *Session) refresh(p *prepared, cat *catalog.Catalog) error {
	if p.plan != nil && p.key == s.planKey(cat) && (p.plan.Cacheable || p.uses == 0) {
		return nil
	}
	return s.compileOnly(p, cat)
}

// encoder returns the encoder of p's columns; the common all-text and all-binary ones are kept.
func (s *Session) encoder(p *prepared, cols []planner.Column, formats []int16) (*rowEncoder, error) {
	slot := -1
	switch {
	case len(formats) == 0:
		slot = 0
	case len(formats) == 1:
		slot = int(formats[0])
	default:
		same := true
		for _, f := range formats[1:] {
			same = same && f == formats[0]
		}
		if same {
			slot = int(formats[0])
		}
	}
	if p == nil || slot < 0 || slot > 1 {
		return newRowEncoder(&s.env, s.conf.encoding, cols, formats)
	}
	if e := p.enc[slot]; e != nil && e.enc == s.conf.encoding {
		return e, nil
	}
	e, err := newRowEncoder(&s.env, s.conf.encoding, cols, formats)
	if err == nil {
		p.enc[slot] = e
	}
	return e, err
}
