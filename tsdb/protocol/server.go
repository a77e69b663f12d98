package protocol

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb"
	"ostraka/tsdb/prom"
)

// Limits bound a request; zero values are the defaults given.
type Limits struct {
	MaxBody   int64         // bytes, after decompression; 32 MiB
	MaxSeries int           // new to this node, that one write may bring; 100,000
	Write     time.Duration // that a write may take; 30 s
	Writers   int           // requests that are being written at a time; 32
}

func (l *Limits) fill() {
	if l.MaxBody <= 0 {
		l.MaxBody = 32 << 20
	}
	if l.MaxSeries <= 0 {
		l.MaxSeries = 100_000
	}
	if l.Write <= 0 {
		l.Write = 30 * time.Second
	}
	if l.Writers <= 0 {
		l.Writers = 32
	}
}

// Config is what a Server works with; every field but Limits and Logger is needed.
type Config struct {
	DB      *tsdb.DB
	Source  *prom.Source
	Version string
	// Catalog is the newest catalogue of a database; nil when there is none.
	Catalog func(db sqltypes.OID) *catalog.Catalog
	// Authenticate says for which role a request acts. Its errors with SQLSTATE class
	// 28 are answered with 401.
	Authenticate func(r *http.Request, c Credentials) (*catalog.Role, error)
	// Exec runs a data definition as a role, wherever it must run.
	Exec   func(ctx context.Context, role, database, sql string) error
	Now    func() time.Time
	Logger *slog.Logger
	Limits Limits
}

// Credentials are what a request says of who sends it.
type Credentials struct {
	User, Password string
	Given          bool
}

// Server answers requests.
type Server struct {
	cfg     Config
	writers chan struct{}
	known   knownSeries

	mu      sync.Mutex
	targets map[*catalog.Relation]*target // guarded by mu
}

// New makes a Server.
func New(cfg Config) *Server {
	cfg.Limits.fill()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{cfg: cfg, writers: make(chan struct{}, cfg.Limits.Writers), targets: map[*catalog.Relation]*target{}}
}

// Register adds the routes.
func (s *Server) Register(mux *http.ServeMux) {
	mux.Handle("POST /write", s.handle(influxV1, s.writeV1))
	mux.Handle("POST /api/v2/write", s.handle(influxV2, s.writeV2))
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Influxdb-Version", "1.8-ostraka-"+s.cfg.Version)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.Handle("POST /api/v1/write", s.handle(plain, s.remoteWrite))
	mux.Handle("POST /api/v1/read", s.handle(plain, s.remoteRead))
	for pattern, h := range map[string]handler{"/api/v1/query": s.query, "/api/v1/query_range": s.queryRange, "/api/v1/series": s.series,
		"/api/v1/labels": s.labels, "/api/v1/status/buildinfo": s.buildInfo, "/api/v1/metadata": s.metadata} {
		mux.Handle("GET "+pattern, s.handle(api, h))
		mux.Handle("POST "+pattern, s.handle(api, h))
	}
	mux.Handle("GET /api/v1/label/{name}/values", s.handle(api, s.labelValues))
}

// caller is for whom a request acts and where.
type caller struct {
	role     *catalog.Role
	database *catalog.Database
}

func (c caller) reader(s *Server) prom.Reader {
	return prom.Reader{Catalog: s.cfg.Catalog(c.database.OID), Role: c.role.OID}
}

// handler answers a request; an error is answered in the style of the protocol.
type handler func(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error

// Headers of every answer: which node's rows it is about.
const (
	nodeHeader  = "X-Ostraka-Node"
	scopeHeader = "X-Ostraka-Scope"
	onlyHeader  = "X-Ostraka-Incomplete"
)

// sayWhere tells that requests act on one node's rows, and when others may have more.
func (s *Server) sayWhere(w http.ResponseWriter) {
	node, elsewhere := s.cfg.DB.Where()
	w.Header().Set(nodeHeader, node)
	w.Header().Set(scopeHeader, "node")
	if elsewhere {
		w.Header().Set(onlyHeader, "rows of node "+node+" only; rows are on the nodes they were written to")
	}
}

// handle finds out who asks and of which database.
func (s *Server) handle(style style, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, s.cfg.Limits.MaxBody)
		s.sayWhere(w)
		c, err := s.caller(style, r)
		if err == nil {
			err = h(r.Context(), c, w, r)
		}
		if err == nil {
			return
		}
		if statusOf(err) == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="ostraka"`)
		}
		if statusOf(err) >= 500 {
			s.cfg.Logger.Warn("time-series request", "path", r.URL.Path, "error", err)
		}
		style(w, err)
	})
}

func (s *Server) caller(st style, r *http.Request) (caller, error) {
	role, err := s.cfg.Authenticate(r, credentials(r))
	if err != nil {
		return caller{}, err
	}
	cat := s.cfg.Catalog(catalog.PostgresDB)
	if cat == nil {
		return caller{}, pgerror.New(pgerror.CannotConnectNow, "the catalogue has not arrived yet")
	}
	q := r.URL.Query()
	name := q.Get("db")
	if bucket := q.Get("bucket"); name == "" && bucket != "" {
		name, _, _ = strings.Cut(bucket, "/")
	}
	if name == "" {
		name = "postgres"
	}
	db := cat.DatabaseByName(name)
	if db == nil || s.cfg.Catalog(db.OID) == nil {
		return caller{}, &httpError{http.StatusNotFound, fmt.Sprintf("database not found: %q", name)}
	}
	if !cat.Holds(role.OID, db.Owner, db.ACL, 'c', "Tc") {
		return caller{}, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for database \"%s\"", name)
	}
	return caller{role: role, database: db}, nil
}

// credentials are those of Basic authentication, of InfluxDB's "Token user:password"
// or of its parameters u and p.
func credentials(r *http.Request) Credentials {
	if u, p, ok := r.BasicAuth(); ok {
		return Credentials{u, p, true}
	}
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Token "); ok {
		u, p, _ := strings.Cut(t, ":")
		return Credentials{u, p, true}
	}
	if q := r.URL.Query(); q.Has("u") {
		return Credentials{q.Get("u"), q.Get("p"), true}
	}
	return Credentials{}
}

// writer waits for a turn to write; the context bounds the write.
func (s *Server) writer(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.Write)
	select {
	case s.writers <- struct{}{}:
		return ctx, func() { <-s.writers; cancel() }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, &httpError{http.StatusServiceUnavailable, "too many writes at a time"}
	}
}
