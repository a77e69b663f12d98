package settings

import (
	"sort"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Source says where a value came from (pg_settings.source).
type Source uint8

const (
	FromDefault Source = iota
	FromConfig
	FromDatabase
	FromRole
	FromClient // startup packet
	FromSession
)

func (s Source) String() string {
	return [...]string{"default", "configuration file", "database", "user", "client", "session"}[s]
}

// value is one parameter of one session.
type value struct {
	def      *Definition // nil for custom ones
	reset    string      // what RESET goes back to
	session  string      // survives COMMIT
	local    string      // SET LOCAL, until the end of the transaction
	isLocal  bool
	resetSrc Source
	source   Source
}

func (v *value) current() string {
	if v.isLocal {
		return v.local
	}
	return v.session
}

// undo restores one parameter to what it was before a change in a transaction.
type undo struct {
	name string
	was  value
	made bool // the change created the custom parameter
}

// Mark is a place in the store's undo log.
type Mark int

// Store holds a session's values.
type Store struct {
	values map[string]*value // by lower-case name; parameters never set are absent
	log    []undo
	inTxn  bool
	// PlanVersion changes whenever a parameter that plans depend on did; Version with every change.
	PlanVersion, Version uint64
	// OnChange is called after the effective value of name changed, for whatever reason.
	OnChange func(name, value string)
	// dirty are names of reported parameters that changed since TakeReports.
	dirty map[string]bool
}

// NewStore has every parameter at its default.
func NewStore() *Store {
	load()
	return &Store{values: map[string]*value{}, dirty: map[string]bool{}}
}

func notFound(name string) error {
	return pgerror.New(pgerror.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
}

// Get returns the effective value in canonical form.
func (s *Store) Get(name string) (string, bool) {
	key := strings.ToLower(name)
	if v := s.values[key]; v != nil {
		return v.current(), true
	}
	if d := Lookup(key); d != nil {
		return d.Boot, true
	}
	return "", false
}

// Show is Get as SHOW prints it.
func (s *Store) Show(name string) (string, error) {
	v, ok := s.Get(name)
	if !ok {
		return "", notFound(name)
	}
	d := Lookup(name)
	if d == nil {
		return v, nil
	}
	if d.Name == "seed" {
		return "unavailable", nil
	}
	return d.Show(v), nil
}

// Row describes a parameter for pg_settings.
type Row struct {
	Def                  *Definition // nil: custom
	Name                 string
	Setting, Boot, Reset string
	Source               Source
}

// Rows lists everything, custom parameters too, by name.
func (s *Store) Rows() []Row {
	var rows []Row
	for _, d := range All() {
		r := Row{Def: d, Name: d.Name, Setting: d.Boot, Boot: d.Boot, Reset: d.Boot}
		if v := s.values[strings.ToLower(d.Name)]; v != nil {
			r.Setting, r.Reset, r.Source = v.current(), v.reset, v.source
		}
		rows = append(rows, r)
	}
	for k, v := range s.values {
		if v.def == nil {
			rows = append(rows, Row{Name: k, Setting: v.current(), Reset: v.reset, Source: v.source})
		}
	}
	sort.SliceStable(rows, func(i, j int) bool { return strings.ToLower(rows[i].Name) < strings.ToLower(rows[j].Name) })
	return rows
}

// Begin starts recording changes; Commit and Rollback end it.
func (s *Store) Begin() { s.inTxn = true }

// Mark names the present state for RollbackTo.
func (s *Store) Mark() Mark { return Mark(len(s.log)) }

// RollbackTo undoes every change since the mark.
func (s *Store) RollbackTo(m Mark) {
	for len(s.log) > int(m) {
		u := s.log[len(s.log)-1]
		s.log = s.log[:len(s.log)-1]
		before, _ := s.Get(u.name)
		if u.made {
			delete(s.values, u.name)
		} else {
			*s.values[u.name] = u.was
		}
		s.changed(u.name, before)
	}
}

// Rollback ends the transaction and undoes all of its changes.
func (s *Store) Rollback() {
	s.RollbackTo(0)
	s.inTxn = false
}

// Commit ends the transaction: SET stays, SET LOCAL ends.
func (s *Store) Commit() {
	for _, u := range s.log {
		if v := s.values[u.name]; v != nil && v.isLocal {
			before := v.current()
			v.isLocal = false
			s.changed(u.name, before)
		}
	}
	s.log = s.log[:0]
	s.inTxn = false
}

// Allowed says who sets a parameter.
type Allowed struct {
	Superuser bool
	Startup   bool // from the startup packet
}

// Set changes a parameter as SET (local: SET LOCAL) does, with PostgreSQL's checks.
func (s *Store) Set(name, val string, local bool, who Allowed) error {
	d := Lookup(name)
	if d == nil {
		return s.setCustom(name, val, local)
	}
	if err := d.mayChange(who); err != nil {
		return err
	}
	norm, err := s.normalize(d, name, val)
	if err != nil {
		return err
	}
	src := FromSession
	if who.Startup {
		src = FromClient
	}
	s.store(d, d.Name, norm, local, src)
	return nil
}

// Check tests what Set would: that the parameter exists, may be changed and can have the value.
func (s *Store) Check(name, val string, who Allowed) error {
	d := Lookup(name)
	if d == nil {
		if !CustomName(name) {
			return notFound(name)
		}
		return nil
	}
	if err := d.mayChange(who); err != nil {
		return err
	}
	_, err := s.normalize(d, name, val)
	return err
}

// Force sets a parameter without asking whether it may be changed (is_superuser,
// session_authorization); the value becomes the reset value too.
func (s *Store) Force(name, val string, src Source) {
	d := Lookup(name)
	key := strings.ToLower(name)
	before, _ := s.Get(name)
	s.values[key] = &value{def: d, reset: val, session: val, source: src, resetSrc: src}
	s.changed(key, before)
}

// ForceLocal sets a parameter for the running transaction only, without asking (transaction_isolation).
func (s *Store) ForceLocal(name, val string) { s.store(Lookup(name), name, val, true, FromSession) }

// SetDefault is Force with the checks of Set: ALTER ROLE/DATABASE … SET and the startup packet.
func (s *Store) SetDefault(name, val string, src Source, who Allowed) error {
	d := Lookup(name)
	if d == nil {
		if !CustomName(name) {
			return notFound(name)
		}
		s.Force(name, val, src)
		return nil
	}
	if err := d.mayChange(who); err != nil {
		return err
	}
	norm, err := s.normalize(d, name, val)
	if err != nil {
		return err
	}
	s.Force(d.Name, norm, src)
	return nil
}

func (d *Definition) mayChange(who Allowed) error {
	switch d.Context {
	case Internal:
		return pgerror.New(pgerror.CantChangeRuntimeParam, `parameter "%s" cannot be changed`, d.Name)
	case Postmaster:
		return pgerror.New(pgerror.CantChangeRuntimeParam, `parameter "%s" cannot be changed without restarting the server`, d.Name)
	case Sighup:
		return pgerror.New(pgerror.CantChangeRuntimeParam, `parameter "%s" cannot be changed now`, d.Name)
	case Backend, SuperuserBackend:
		if !who.Startup {
			return pgerror.New(pgerror.CantChangeRuntimeParam, `parameter "%s" cannot be set after connection start`, d.Name)
		}
	}
	if (d.Context == Superuser || d.Context == SuperuserBackend) && !who.Superuser {
		return pgerror.New(pgerror.InsufficientPrivilege, `permission denied to set parameter "%s"`, d.Name)
	}
	return nil
}

// normalize checks a value; errors of typed parameters name them as the user did.
func (s *Store) normalize(d *Definition, name, val string) (string, error) {
	if d.Kind != String && name != d.Name {
		c := *d
		c.Name = name
		d = &c
	}
	if d.Name == "DateStyle" {
		// What the value does not mention is kept.
		cur, _ := s.Get("DateStyle")
		style, order, _ := ParseDateStyle(cur, sqltypes.DateISO, sqltypes.OrderMDY)
		style, order, bad := ParseDateStyle(val, style, order)
		if bad != "" {
			return "", d.invalid(val).WithDetail(`Unrecognized key word: "%s".`, bad)
		}
		return FormatDateStyle(style, order), nil
	}
	return d.Normalize(val)
}

func (s *Store) setCustom(name, val string, local bool) error {
	if !strings.Contains(name, ".") {
		if !CustomName(name + ".x") {
			return notFound(name)
		}
		return notFound(name)
	}
	if !CustomName(name) {
		return pgerror.New(pgerror.InvalidName, `invalid configuration parameter name "%s"`, name).
			WithDetail("Custom parameter names must be two or more simple identifiers separated by dots.")
	}
	s.store(nil, name, val, local, FromSession)
	return nil
}

func (s *Store) store(d *Definition, name, val string, local bool, src Source) {
	key := strings.ToLower(name)
	v := s.values[key]
	before, _ := s.Get(key)
	made := v == nil
	if made {
		v = &value{def: d}
		if d != nil {
			v.reset, v.session = d.Boot, d.Boot
		}
		s.values[key] = v
	}
	if s.inTxn {
		u := undo{name: key, was: *v, made: made}
		s.log = append(s.log, u)
	} else if local {
		return // outside a transaction SET LOCAL has no effect
	}
	if local {
		v.local, v.isLocal = val, true
	} else {
		v.session, v.isLocal = val, false
	}
	v.source = src
	s.changed(key, before)
}

// Reset goes back to the value at session start.
func (s *Store) Reset(name string, local bool, who Allowed) error {
	d := Lookup(name)
	key := strings.ToLower(name)
	if d == nil {
		if v := s.values[key]; v != nil || CustomName(name) {
			reset := ""
			if v != nil {
				reset = v.reset
			}
			s.store(nil, key, reset, local, FromDefault)
			return nil
		}
		return notFound(name)
	}
	if err := d.mayChange(who); err != nil {
		return err
	}
	reset, src := d.Boot, FromDefault
	if v := s.values[key]; v != nil {
		reset, src = v.reset, v.resetSrc
	}
	s.store(d, d.Name, reset, local, src)
	return nil
}

// ResetAll is RESET ALL.
func (s *Store) ResetAll() {
	keys := make([]string, 0, len(s.values))
	for k := range s.values {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		v := s.values[k]
		if v.def != nil && (v.def.NoResetAll || v.def.Context < Backend) {
			continue
		}
		if v.current() == v.reset {
			continue
		}
		s.store(v.def, k, v.reset, false, v.resetSrc)
	}
}

func (s *Store) changed(key, before string) {
	now, ok := s.Get(key)
	s.Version++
	d := Lookup(key)
	if d != nil && d.Plan && now != before {
		s.PlanVersion++
	}
	if d != nil && d.Report && now != before {
		s.dirty[d.Name] = true
	}
	if s.OnChange != nil && ok {
		name := key
		if d != nil {
			name = d.Name
		}
		s.OnChange(name, now)
	}
}

// Report is one ParameterStatus.
type Report struct{ Name, Value string }

// TakeReports returns the reported parameters that changed since the last call, by name.
func (s *Store) TakeReports() []Report {
	if len(s.dirty) == 0 {
		return nil
	}
	var out []Report
	for _, name := range reported {
		if s.dirty[name] {
			v, _ := s.Show(name)
			out = append(out, Report{name, v})
		}
	}
	clear(s.dirty)
	return out
}

// AllReports returns every reported parameter, as a session start sends them.
func (s *Store) AllReports() []Report {
	clear(s.dirty)
	var out []Report
	for _, name := range reported {
		v, _ := s.Show(name)
		out = append(out, Report{name, v})
	}
	return out
}

// Changed lists parameters whose effective value differs from the default of the
// server: what a forwarded session must be told.
func (s *Store) Changed(f func(name, val string)) {
	for k, v := range s.values {
		if v.def != nil && (v.def.Context < Superuser || v.def.NoResetAll) {
			continue
		}
		f(k, v.current())
	}
}
