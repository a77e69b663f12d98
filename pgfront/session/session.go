package session

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/expr"
	"ostraka/pgfront/settings"
	"ostraka/pgfront/wire"
	"ostraka/shardrouter"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Client is what the handshake found out.
type Client struct {
	Role         *catalog.Role
	Database     sqltypes.OID
	DatabaseName string
	Remote       net.Addr
	Local        net.Addr
	TLS          *tls.ConnectionState // nil: not encrypted
	// Params are the startup packet's parameters without user and database.
	Params map[string]string
	// Peer: the other end is a node of the cluster that asserts a client's role.
	Peer bool
	// PeerSession is the other node's name for the connection.
	PeerSession string
	// PeerPID is the process id that the other node's client was told, or 0.
	PeerPID int32
	// PeerReads: it only reads what this node has.
	PeerReads bool
}

// Session is one session; see the package comment.
type Session struct {
	// reading is the view of the statement that runs without a transaction.
	reading engine.View
	deps    *Deps
	client  Client
	// counters are the database's, shared by its sessions.
	counters *DatabaseStats
	pid      int32
	secret   int32

	in  *wire.Reader
	out *wire.Out

	set     *settings.Store
	domains domainChecks
	role    *catalog.Role // current role (SET ROLE)
	auth    *catalog.Role // session_authorization

	env sqltypes.Env
	rng *rand.Rand
	// calls is how deep user-defined functions call each other now.
	calls int
	// procs are the PL/pgSQL functions that it has parsed, coercions the conversions of
	// values for their variables, made for the catalogue coercedFor.
	procs      map[proceduralKey]*procedural
	coercions  map[coercion]*expr.Program
	coercedFor *catalog.Catalog
	unnamed    int // cursors opened without a name
	// transitions are the transition tables of the running trigger function,
	// triggerDepth how deep triggers fire each other.
	transitions  []*transition
	triggerDepth int
	now          func() time.Time
	clk          int64     // statement start, µs since 2000
	began        time.Time // the same
	counting     counting
	conf         mirrored

	tx      txn
	stmts   map[string]*prepared // by name; "" is the unnamed statement
	portals map[string]*portal   // by name; cursors too
	spare   *portal              // an unnamed one that was closed, to be used again
	parsed  map[string]*prepared // by text: what Parse need not do again
	bind    wire.Bind

	path     pathCache
	cached   cachedPlans
	up       *upstream // open session on the leader, nil
	ownWrite ownPosition
	// shardsSeen is what the session has seen of other shards.
	shardsSeen shardrouter.Seen
	peerTerm   uint64        // of a session for another node: see forPeer
	cycles     atomic.Uint64 // ReadyForQuery sent after the greeting
	seqs       sequenceState
	topLevel   bool // the running statement is one call of a function
	skip       bool // discard until Sync
	inQuery    bool // a simple Query message is being handled
	args       []sqltypes.Datum

	notify   notifier
	tempOID  sqltypes.OID
	onCommit bool // a temporary table has an ON COMMIT action; see NoteOnCommit
	advisory advisoryState

	// Shared with other goroutines.
	listening atomic.Bool
	mu        sync.Mutex
	ctx       *stmtContext // guarded by mu; of the running or next statement
	running   bool         // guarded by mu
	ended     error        // guarded by mu; why the session must end
	act       activity     // guarded by mu
	timer     *time.Timer
	timedCtx  *stmtContext
}

// mirrored are settings that hot paths read.
type mirrored struct {
	statementTimeout, lockTimeout, idleInTxn, idle time.Duration
	clientMin                                      int // severity of the least notice that is sent
	encoding                                       wire.Encoding
	workMem                                        int64
	ownWrites                                      time.Duration
	asyncCommit                                    bool // synchronous_commit = off
	escapeStrings                                  bool // standard_conforming_strings = off
	readLevel                                      byte // readLocal, readBounded, …
	maxStaleness                                   time.Duration
	minPosition                                    commitlog.Position
	positionTimeout                                time.Duration
	transactionID                                  string
	trackActivity                                  bool
	isolation                                      string // default_transaction_isolation, "" read committed
	readOnly, deferrable                           bool   // default_transaction_…
}

// activity is what pg_stat_activity shows.
type activity struct {
	backendStart, xactStart, queryStart, stateChange time.Time
	state, query                                     string
	waitType, wait                                   string
	app                                              string
	user                                             string
	userOID                                          sqltypes.OID
	txn                                              engine.Txn // nil: none was opened
}

// pgEpoch is 2000-01-01 UTC, the zero of timestamps.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func micros(t time.Time) int64 { return t.Sub(pgEpoch).Microseconds() }

// New makes the session of an authenticated client. Errors are FATAL.
func New(deps *Deps, c Client, in *wire.Reader, out *wire.Out) (*Session, error) {
	deps.Limits.defaults()
	term := uint64(0)
	if c.Peer && c.PeerReads {
		own := *deps
		own.Forwarder = nil
		deps = &own
	} else if c.Peer {
		var err error
		if deps, term, err = forPeer(deps); err != nil {
			return nil, err
		}
	}
	s := &Session{deps: deps, peerTerm: term, client: c, in: in, out: out, set: settings.NewStore(), role: c.Role, auth: c.Role,
		now: deps.Now, stmts: map[string]*prepared{}, portals: map[string]*portal{}, ctx: newStmtContext()}
	if s.now == nil {
		s.now = time.Now
	}
	s.rng = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	s.env = sqltypes.Env{Ctx: s.ctx, Formats: sqltypes.DefaultFormats(), Session: s}
	s.notify.s, s.counters = s, new(DatabaseStats)
	s.set.OnChange = s.settingChanged
	s.conf.trackActivity = true
	for _, d := range settings.All() {
		if mirrors[d.Name] {
			s.settingChanged(d.Name, d.Boot)
		}
	}
	for name, value := range deps.Settings {
		s.set.Force(name, value, settings.FromConfig)
	}
	s.set.Force("session_authorization", c.Role.Name, settings.FromDefault)
	s.set.Force("is_superuser", onOff(c.Role.Super), settings.FromDefault)
	if err := s.startupSettings(); err != nil {
		return nil, err
	}
	if !deps.Registry.add(s) {
		return nil, fatal(pgerror.New(pgerror.CannotConnectNow, "the database system is shutting down"))
	}
	s.counters = deps.Registry.Database(c.Database)
	s.counters.Sessions.Add(1)
	t := s.now()
	s.act = activity{backendStart: t, stateChange: t, state: "idle", app: s.act.app, user: c.Role.Name, userOID: c.Role.OID}
	in.OnWake = s.woken
	return s, nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// startupSettings applies ALTER DATABASE/ROLE … SET and the startup packet's parameters.
func (s *Session) startupSettings() error {
	who := settings.Allowed{Superuser: true, Startup: true}
	cat := s.deps.Engine.Catalog(s.client.Database)
	if cat != nil {
		if db := cat.Database(s.client.Database); db != nil {
			s.configList(db.Config, settings.FromDatabase)
		}
		s.configList(s.client.Role.Config, settings.FromRole)
	}
	who.Superuser = s.client.Role.Super
	apply := func(name, value string) error {
		if err := s.set.SetDefault(name, value, settings.FromClient, who); err != nil {
			if e, ok := err.(*pgerror.Error); ok {
				c := *e
				return fatal(&c)
			}
			return err
		}
		return nil
	}
	for name, value := range s.client.Params {
		if name == "options" {
			continue
		}
		if name == "application_name" && len(value) > 63 {
			short := sqltypes.TruncateName(value)
			s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.NameTooLong,
				Message: fmt.Sprintf(`identifier "%s" will be truncated to "%s"`, value, short)})
			value = short
		}
		if err := apply(name, value); err != nil {
			return err
		}
	}
	args := splitOptions(s.client.Params["options"])
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-c" || arg == "--":
			if i++; i >= len(args) {
				return fatal(pgerror.New(pgerror.SyntaxError, "invalid command-line argument for server process: %s", arg))
			}
			arg = args[i]
		case strings.HasPrefix(arg, "-c"), strings.HasPrefix(arg, "--"):
			arg = arg[2:]
		default:
			return fatal(pgerror.New(pgerror.SyntaxError, "invalid command-line argument for server process: %s", arg))
		}
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fatal(pgerror.New(pgerror.SyntaxError, "-c %s requires a value", arg))
		}
		if err := apply(strings.ReplaceAll(name, "-", "_"), value); err != nil {
			return err
		}
	}
	return nil
}

// configList applies "name=value" entries; wrong ones warn.
func (s *Session) configList(list []string, src settings.Source) {
	for _, e := range list {
		name, value, _ := strings.Cut(e, "=")
		if err := s.set.SetDefault(name, value, src, settings.Allowed{Superuser: true}); err != nil {
			if e, ok := err.(*pgerror.Error); ok {
				w := *e
				w.Severity = "WARNING"
				s.NoticeError(&w)
			}
		}
	}
}

// splitOptions splits the options parameter at blanks; a backslash escapes.
func splitOptions(s string) []string {
	var out []string
	var cur strings.Builder
	has := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			cur.WriteByte(s[i])
			has = true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			if has {
				out = append(out, cur.String())
				cur.Reset()
				has = false
			}
		default:
			cur.WriteByte(c)
			has = true
		}
	}
	if has {
		out = append(out, cur.String())
	}
	return out
}

// mirrors are the settings that settingChanged copies.
var mirrors = map[string]bool{"synchronous_commit": true, "statement_timeout": true, "lock_timeout": true, "idle_in_transaction_session_timeout": true,
	"idle_session_timeout": true, "client_min_messages": true, "client_encoding": true, "DateStyle": true, "TimeZone": true,
	"IntervalStyle": true, "extra_float_digits": true, "bytea_output": true, "work_mem": true, "search_path": true, "role": true,
	"session_authorization": true, "application_name": true, "ostraka.own_writes_timeout": true, "ostraka.read_consistency": true,
	"ostraka.max_staleness": true, "ostraka.min_position": true, "ostraka.position_timeout": true, "ostraka.transaction_id": true,
	"xmlbinary": true, "track_activities": true, "default_transaction_isolation": true, "default_transaction_read_only": true,
	"default_transaction_deferrable": true}

// settingChanged mirrors a setting; Store calls it for every change, undone ones too.
func (s *Session) settingChanged(name, value string) {
	millis := func() time.Duration {
		n, _ := strconv.ParseInt(value, 10, 64)
		return time.Duration(n) * time.Millisecond
	}
	f := &s.env.Formats
	switch name {
	case "statement_timeout":
		s.conf.statementTimeout = millis()
	case "standard_conforming_strings":
		s.conf.escapeStrings = value == "off"
	case "synchronous_commit":
		s.conf.asyncCommit = value == "off"
	case "lock_timeout":
		s.conf.lockTimeout = millis()
	case "idle_in_transaction_session_timeout":
		s.conf.idleInTxn = millis()
	case "idle_session_timeout":
		s.conf.idle = millis()
	case "ostraka.own_writes_timeout":
		s.conf.ownWrites = millis()
	case "ostraka.read_consistency":
		s.conf.readLevel = map[string]byte{"bounded": readBounded, "leader": readOnLeader, "linearizable": readLinearizable}[value]
	case "ostraka.max_staleness":
		s.conf.maxStaleness = millis()
	case "ostraka.position_timeout":
		s.conf.positionTimeout = millis()
	case "ostraka.transaction_id":
		s.conf.transactionID = value
	case "ostraka.min_position":
		s.conf.minPosition, _ = commitlog.ParsePosition(value) // "" is no position
	case "client_min_messages":
		s.conf.clientMin = severityRank(value)
	case "client_encoding":
		s.conf.encoding = wire.EncodingByName(value)
	case "DateStyle":
		f.DateStyle, f.DateOrder, _ = settings.ParseDateStyle(value, sqltypes.DateISO, sqltypes.OrderMDY)
	case "TimeZone":
		if loc, _, ok := settings.LoadZone(value); ok {
			f.TimeZone = loc
		}
	case "IntervalStyle":
		f.IntervalStyle = map[string]sqltypes.IntervalStyle{"postgres_verbose": sqltypes.IntervalPostgresVerbose,
			"sql_standard": sqltypes.IntervalSQLStandard, "iso_8601": sqltypes.IntervalISO8601}[value]
	case "extra_float_digits":
		f.ExtraFloatDigits, _ = strconv.Atoi(value)
	case "bytea_output":
		f.ByteaEscape = value == "escape"
	case "xmlbinary":
		f.XMLBinaryHex = value == "hex"
	case "default_transaction_isolation":
		s.conf.isolation = value
	case "default_transaction_read_only":
		s.conf.readOnly = value == "on"
	case "default_transaction_deferrable":
		s.conf.deferrable = value == "on"
	case "work_mem":
		kb, _ := strconv.ParseInt(value, 10, 64)
		s.conf.workMem = kb << 10
	case "search_path":
		s.path.valid = false
	case "track_activities":
		s.conf.trackActivity = value == "on"
	case "session_authorization", "role":
		s.path.valid = false
		s.resolveRoles()
	case "application_name":
		s.mu.Lock()
		s.act.app = value
		s.mu.Unlock()
	}
}

// resolveRoles finds the current role after role or session_authorization changed.
func (s *Session) resolveRoles() {
	find := func(name string) *catalog.Role {
		if name == s.client.Role.Name {
			return s.client.Role
		}
		if cat := s.catalog(); cat != nil {
			return cat.RoleByName(name)
		}
		return nil
	}
	if v, ok := s.set.Get("session_authorization"); ok && v != "" {
		if r := find(v); r != nil {
			s.auth = r
		}
	}
	s.role = s.auth
	if v, _ := s.set.Get("role"); v != "" && v != "none" {
		if r := find(v); r != nil {
			s.role = r
		}
	}
	if s.tx.settingsReady {
		s.set.Force("is_superuser", onOff(s.role.Super), settings.FromDefault)
	}
}

// catalog is the newest catalogue that this session's statements see.
func (s *Session) catalog() *catalog.Catalog {
	if s.tx.txn != nil {
		return s.tx.txn.Catalog()
	}
	return s.deps.Engine.Catalog(s.client.Database)
}

// Engine is the shard's engine; Deps what else the session was made with.
func (s *Session) Engine() engine.Engine { return s.deps.Engine }
func (s *Session) Deps() *Deps           { return s.deps }

// Settings are the session's.
func (s *Session) Settings() *settings.Store { return s.set }

// PID is the process id that the client was told.
func (s *Session) PID() int32 { return s.pid }

// Role is the current role, Superuser whether it is one.
func (s *Session) Role() *catalog.Role { return s.role }
func (s *Session) Superuser() bool     { return s.role.Super }

// Cancel cancels the running statement, if there is one. Safe from any goroutine.
func (s *Session) Cancel() { s.cancelRunning(errCanceledByUser) }

func (s *Session) cancelRunning(cause error) {
	s.mu.Lock()
	ctx, running := s.ctx, s.running
	s.mu.Unlock()
	if running {
		ctx.cancel(cause)
	}
}

// Terminate ends the session with 57P01. Safe from any goroutine.
func (s *Session) Terminate() { s.terminate(errTerminated) }

func (s *Session) terminate(reason error) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = reason
	}
	ctx, running := s.ctx, s.running
	s.mu.Unlock()
	if running {
		ctx.cancel(reason)
	}
	s.in.Wake()
}

// Activity describes the session. Safe from any goroutine.
func (s *Session) Activity() Activity {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Activity{PID: s.pid, Database: s.client.Database, DatabaseName: s.client.DatabaseName, User: s.act.userOID, UserName: s.act.user,
		Application: s.act.app, BackendStart: s.act.backendStart, XactStart: s.act.xactStart, QueryStart: s.act.queryStart,
		StateAge: s.act.stateChange, State: s.act.state, Query: s.act.query, WaitEventType: s.act.waitType, WaitEvent: s.act.wait, TLS: s.client.TLS}
	if s.act.txn != nil {
		a.Xid = s.act.txn.XidIfAssigned()
	}
	if t, ok := s.client.Remote.(*net.TCPAddr); ok {
		a.ClientAddr, a.ClientPort = t.IP.String(), t.Port
	}
	return a
}
