package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/engine/catalog"
	"ostraka/engine/catalog/scram"
	"ostraka/peer"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/prom"
	"ostraka/tsdb/protocol"
)

// serveProtocols adds the time-series protocols to the HTTP listener.
func (n *Node) serveProtocols(mux *http.ServeMux) error {
	auth, err := newHTTPAuth(n)
	if err != nil {
		return err
	}
	protocol.New(protocol.Config{DB: n.series, Source: n.metrics, Version: Version, Catalog: n.shard.Catalog, Authenticate: auth.role,
		Exec: n.execOnLeader, Now: n.cfg.now, Logger: n.log}).Register(mux)
	return nil
}

// newMetricsSource makes what answers PromQL, for HTTP and for promql().
func newMetricsSource(n *Node) *prom.Source { return prom.NewSource(n.series, prom.Limits{}) }

// execOnLeader runs one statement of a role where definitions are made. What was
// sent is not sent again.
func (n *Node) execOnLeader(ctx context.Context, role, database, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	leader := n.group.Leadership().LeaderID
	if leader == "" {
		return pgerror.New(pgerror.CannotConnectNow, "no leader is known")
	}
	addr, err := n.peers.sqlAddr(ctx, leader)
	if err != nil {
		return pgerror.Wrap(err, pgerror.CannotConnectNow, "no leader can be reached to execute the statement")
	}
	c, err := peer.Connect(ctx, peer.Options{Addr: addr, User: role, Database: database, App: "ostraka http", Node: n.cfg.NodeID, Secret: n.secret,
		Now: n.cfg.now(), Dial: n.dialLeaderOf(n.group, leader)})
	if err == nil {
		_, err = c.Exec(ctx, sql).ReadAll()
		err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		e := pgerror.New(pgerror.Code(pe.Code), "%s", pe.Message)
		if pe.Detail != "" {
			e = e.WithDetail("%s", pe.Detail)
		}
		return e
	}
	if err != nil {
		return pgerror.Wrap(err, pgerror.CannotConnectNow, "the leader did not execute the statement")
	}
	return nil
}

// httpAuth decides for which role a request acts: on loopback for whom it says, or
// the superuser, as the PostgreSQL listener trusts clients of this machine; from
// elsewhere for a role whose password it has.
type httpAuth struct {
	n     *Node
	dummy string // verifier of nobody, so that an unknown role takes as long as a known one

	slots chan struct{} // a verification costs thousands of hashes
	mu    sync.Mutex
	known map[[sha256.Size]byte]struct{} // verifiers with passwords that matched; guarded by mu
}

const (
	maxKnownPasswords = 1000
	verifications     = 2 // at a time
)

func newHTTPAuth(n *Node) (*httpAuth, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	v, err := scram.Make(hex.EncodeToString(b[:]))
	if err != nil {
		return nil, err
	}
	return &httpAuth{n: n, dummy: v.String(), slots: make(chan struct{}, verifications), known: map[[sha256.Size]byte]struct{}{}}, nil
}

func (a *httpAuth) role(r *http.Request, c protocol.Credentials) (*catalog.Role, error) {
	cat := a.n.shard.Catalog(postgresDB)
	if cat == nil {
		return nil, pgerror.New(pgerror.CannotConnectNow, "the catalogue has not arrived yet")
	}
	trusted := a.n.cfg.Insecure || trustedRequest(r)
	if !c.Given {
		if !trusted {
			return nil, pgerror.New(pgerror.InvalidAuthorizationSpecification, "a user name and a password are required")
		}
		c.User = a.n.cfg.Superuser
	}
	role := cat.RoleByName(c.User)
	switch {
	case trusted && role == nil:
		return nil, pgerror.New(pgerror.InvalidAuthorizationSpecification, `role "%s" does not exist`, c.User)
	case !trusted:
		ok, err := a.matches(r.Context(), role, c.Password)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, pgerror.New(pgerror.InvalidPassword, `password authentication failed for user "%s"`, c.User)
		}
	}
	if !role.Login {
		return nil, pgerror.New(pgerror.InvalidAuthorizationSpecification, `role "%s" is not permitted to log in`, c.User)
	}
	return role, nil
}

// matches verifies a password. role may be nil.
func (a *httpAuth) matches(ctx context.Context, role *catalog.Role, password string) (bool, error) {
	stored, name := a.dummy, ""
	if role != nil && role.Password != "" && password != "" && !expired(role, a.n.cfg.now()) {
		stored, name = role.Password, role.Name
	}
	key := sha256.Sum256([]byte(name + "\x00" + stored + "\x00" + password))
	a.mu.Lock()
	_, ok := a.known[key]
	a.mu.Unlock()
	if ok {
		return true, nil
	}
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if !scram.Matches(stored, name, password) || name == "" {
		return false, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxKnownPasswords {
		clear(a.known)
	}
	a.known[key] = struct{}{}
	return true, nil
}

func expired(role *catalog.Role, now time.Time) bool {
	return role.ValidUntil != 0 && time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(role.ValidUntil)*time.Microsecond).Before(now)
}

// trustedRequest reports a request of a program on this machine: not one that a
// web page made a browser send, nor one that a proxy passed on.
func trustedRequest(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return false
	}
	for _, h := range []string{"Origin", "X-Forwarded-For", "Forwarded"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return false
	}
	name := r.Host
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	return name == "localhost" || net.ParseIP(name) != nil
}
