package session

import (
	"context"
	"strconv"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/pgfront/settings"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

var _ sqltypes.SessionEnv = (*Session)(nil)

// Clock implements sqltypes.SessionEnv.
func (s *Session) Clock() int64 { return micros(s.now()) }

// Random implements sqltypes.SessionEnv.
func (s *Session) Random() float64 { return s.rng.Float64() }

// SetSeed implements sqltypes.SessionEnv.
func (s *Session) SetSeed(seed float64) {
	s.rng = newRand(seed)
}

func (s *Session) seedFrom(text string) {
	f, _ := strconv.ParseFloat(text, 64)
	s.SetSeed(f)
}

// CurrentUser implements sqltypes.SessionEnv.
func (s *Session) CurrentUser() string { return s.role.Name }

// SessionUser implements sqltypes.SessionEnv.
func (s *Session) SessionUser() string { return s.auth.Name }

// Database implements sqltypes.SessionEnv.
func (s *Session) Database() string { return s.client.DatabaseName }

// DatabaseOID is the session's database.
func (s *Session) DatabaseOID() sqltypes.OID { return s.client.Database }

// BackendPID implements sqltypes.SessionEnv.
func (s *Session) BackendPID() int32 { return s.pid }

// SearchPath implements sqltypes.SessionEnv.
func (s *Session) SearchPath(includeImplicit bool) []string {
	cat := s.catalog()
	oids := s.searchPath(cat)
	var out []string
	if includeImplicit {
		for _, oid := range oids[:len(oids)-len(s.path.names)] {
			switch {
			case oid == pgCatalogOID:
				out = append(out, "pg_catalog")
			case cat != nil && cat.Schema(oid) != nil:
				out = append(out, cat.Schema(oid).Name)
			}
		}
	}
	return append(out, s.path.names...)
}

// Notice implements sqltypes.SessionEnv.
func (s *Session) Notice(severity, sqlstate, message string) {
	s.NoticeError(&pgerror.Error{Severity: severity, Code: pgerror.Code(sqlstate), Message: message})
}

// Type implements sqltypes.SessionEnv.
func (s *Session) Type(oid sqltypes.OID) *sqltypes.Type {
	if cat := s.catalog(); cat != nil {
		return cat.Type(oid)
	}
	return nil
}

// Ext implements sqltypes.SessionEnv: it is the *Session.
func (s *Session) Ext() any { return s }

// Context is the running statement's.
func (s *Session) Context() context.Context { return s.env.Ctx }

// Env is the session's evaluation environment.
func (s *Session) Env() *sqltypes.Env { return &s.env }

func (s *Session) findRole(name string) *catalog.Role {
	if name == s.client.Role.Name {
		return s.client.Role
	}
	if cat := s.catalog(); cat != nil {
		return cat.RoleByName(name)
	}
	return nil
}

// MemberOf reports that the current role is, or inherits from, a role.
func (s *Session) MemberOf(role sqltypes.OID) bool {
	cat := s.catalog()
	return s.role.OID == role || cat != nil && cat.Member(s.role.OID, role)
}

// ClientAddr is where the client connected from, "" when it is not known.
func (s *Session) ClientAddr() string {
	if s.client.Remote == nil {
		return ""
	}
	return s.client.Remote.String()
}

// SettingRows lists the parameters for pg_settings, with the values that SHOW would print raw.
func (s *Session) SettingRows() []settings.Row {
	rows := s.set.Rows()
	for i := range rows {
		switch rows[i].Name {
		case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
			rows[i].Setting, _ = s.show(rows[i].Name)
		}
	}
	return rows
}

// PreparedInfo is one row of pg_prepared_statements.
type PreparedInfo struct {
	Name, Statement string
	At              int64 // µs since 2000
	Params          []sqltypes.OID
	FromSQL         bool
	Generic         int64
}

// PreparedStatements lists the named prepared statements.
func (s *Session) PreparedStatements() []PreparedInfo {
	var out []PreparedInfo
	for _, p := range s.sortedStatements() {
		out = append(out, PreparedInfo{p.name, p.text, micros(p.at), p.params, p.fromSQL, p.uses})
	}
	return out
}

// sequenceState is currval's and lastval's memory.
type sequenceState struct {
	values  map[sqltypes.OID]int64
	last    sqltypes.OID
	hasLast bool
}

func (q *sequenceState) forget() { *q = sequenceState{} }

// NoteSequence remembers what nextval or setval gave (for currval and lastval).
func (s *Session) NoteSequence(seq sqltypes.OID, value int64) {
	if s.seqs.values == nil {
		s.seqs.values = map[sqltypes.OID]int64{}
	}
	s.seqs.values[seq] = value
	s.seqs.last, s.seqs.hasLast = seq, true
}

// CurrVal is the value of NoteSequence for a sequence.
func (s *Session) CurrVal(seq sqltypes.OID) (int64, bool) {
	v, ok := s.seqs.values[seq]
	return v, ok
}

// LastSequence is the sequence that nextval was last called for in this session.
func (s *Session) LastSequence() (seq sqltypes.OID, value int64, ok bool) {
	return s.seqs.last, s.seqs.values[s.seqs.last], s.seqs.hasLast
}

// TempSchema is the session's temporary schema, 0 while there is none.
func (s *Session) TempSchema() sqltypes.OID { return s.tempOID }

// SetTempSchema tells the session which schema was made for it.
func (s *Session) SetTempSchema(oid sqltypes.OID) {
	s.tempOID = oid
	s.path.valid = false
	if oid == 0 {
		s.onCommit = false
	}
}

// NoteOnCommit tells the session that its temporary schema has, or will have, a
// table with ON COMMIT DROP or DELETE ROWS.
func (s *Session) NoteOnCommit() { s.onCommit = true }

// beforeCommit runs the ON COMMIT actions of the session's temporary tables.
func (s *Session) beforeCommit() error {
	if !s.onCommit || s.tempOID == 0 || s.deps.Utility == nil {
		return nil
	}
	if err := s.tx.txn.StartStatement(s.env.Ctx); err != nil {
		return err
	}
	s.path.valid = false
	return s.deps.Utility.BeforeCommit(s.env.Ctx, s)
}

// SizeView is a state to measure relations in, with the function that releases it.
func (s *Session) SizeView() (engine.View, func(), error) {
	if s.tx.txn != nil {
		return s.tx.txn, func() {}, nil
	}
	v, err := s.deps.Engine.View(s.env.Ctx, s.client.Database)
	if err != nil {
		return nil, nil, err
	}
	return v, v.Close, nil
}
