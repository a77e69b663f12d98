package node

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/peer"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb"
)

// holdersInterval is how often nodes ask each other which tables they have rows of.
const holdersInterval = 3 * time.Second

// seriesHolders remembers which other nodes have rows of which table.
type seriesHolders struct {
	mu   sync.Mutex
	have map[string][]uint64 // by node: storage ids; guarded by mu
}

// of lists the nodes that have rows of a table.
func (h *seriesHolders) of(storage uint64) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for id, list := range h.have {
		if slices.Contains(list, storage) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// tables lists what a node had when it was last asked.
func (h *seriesHolders) tables(node string) []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.have[node]
}

// seriesTables are the storage ids of the tables that this node has rows of: the
// answer to the call "series".
func (n *Node) seriesTables() []uint64 {
	if n.seriesStore == nil {
		return nil
	}
	snap := n.seriesStore.Snapshot()
	defer snap.Close()
	out := []uint64{}
	for _, t := range n.seriesStore.Tables() {
		if some, err := snap.Any(t); some || err != nil {
			out = append(out, t.ID)
		}
	}
	return out
}

// askHolders keeps n.holders.
func (n *Node) askHolders() {
	if n.group == nil {
		return
	}
	now := map[string][]uint64{}
	for _, m := range n.group.Metrics().Members {
		if m.ID == n.cfg.NodeID {
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, holdersInterval)
		var list []uint64
		err := n.host.Call(ctx, m.ID, m.Addr, "series", struct{}{}, &list)
		cancel()
		if err != nil { // what it had, it most likely has
			n.holders.mu.Lock()
			list = n.holders.have[m.ID]
			n.holders.mu.Unlock()
		}
		now[m.ID] = list
	}
	n.holders.mu.Lock()
	n.holders.have = now
	n.holders.mu.Unlock()
}

// remoteTimeout bounds reaching a node and beginning a scan there.
const remoteTimeout = 10 * time.Second

// seriesRemotes begins a scan on all other nodes of the cluster.
func (n *Node) seriesRemotes(ctx context.Context, q tsdb.RemoteScan) (out []engine.PeerRows, err error) {
	defer func() {
		if err != nil {
			for _, r := range out {
				r.Close()
			}
			out = nil
		}
	}()
	cat := n.shard.Catalog(q.Database)
	if cat == nil {
		return nil, pgerror.New(pgerror.CannotConnectNow, "the catalogue has not arrived yet")
	}
	db, schema, role := cat.Database(q.Database), cat.Schema(q.Rel.Schema), cat.Role(catalog.BootstrapRole)
	if db == nil || schema == nil || role == nil {
		return nil, pgerror.New(pgerror.UndefinedTable, "relation \"%s\" does not exist", q.Rel.Name)
	}
	zone := ""
	if q.Aggregate != nil {
		zone = q.Aggregate.Zone
	}
	sql, types := remoteQuery(cat, schema.Name, q)
	for _, m := range n.group.Metrics().Members {
		if m.ID == n.cfg.NodeID {
			continue
		}
		r, err := n.seriesRemote(ctx, m.ID, role.Name, db.Name, zone, sql, types)
		if err != nil {
			return out, remoteError(m.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// remoteQuery is what a node is asked for in SQL, and the types of the answer.
func remoteQuery(cat *catalog.Catalog, schema string, q tsdb.RemoteScan) (sql string, types []*sqltypes.Type) {
	var cols []string
	where, group := q.Where, ""
	if p := q.Aggregate; p != nil {
		where = p.Where
		for i, c := range p.Cols {
			if cols, types = append(cols, c.SQL), append(types, cat.Type(c.Type)); i < p.Keys {
				group += ", " + strconv.Itoa(i+1)
			}
		}
	}
	for _, a := range q.Cols {
		c := q.Rel.Columns[a-1]
		cols, types = append(cols, sqltypes.QuoteIdent(c.Name)), append(types, cat.Type(c.Type.OID))
	}
	if len(cols) == 0 {
		cols = []string{"1"}
	}
	sql = "SELECT " + strings.Join(cols, ", ") + " FROM " + sqltypes.QuoteIdent(schema) + "." + sqltypes.QuoteIdent(q.Rel.Name)
	if where != "" {
		sql += " WHERE " + where
	}
	if group != "" {
		sql += " GROUP BY " + group[2:]
	}
	return sql, types
}

func remoteError(node string, err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pgerror.New(pgerror.Code(pe.Code), "time series of node %s: %s", node, pe.Message)
	}
	return pgerror.Wrap(err, pgerror.ConnectionFailure, "time series of node %s could not be read", node)
}

// seriesRemote runs a query on another node.
func (n *Node) seriesRemote(ctx context.Context, id, user, database, zone, sql string, types []*sqltypes.Type) (*remoteRows, error) {
	start, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	addr, err := n.peers.sqlAddr(start, id)
	if err != nil {
		return nil, err
	}
	c, err := peer.Connect(start, peer.Options{Addr: addr, User: user, Database: database, App: "ostraka time series", Node: n.cfg.NodeID, Reads: true, Secret: n.secret,
		Now: n.cfg.now(), Dial: n.dialer(id)})
	if err != nil {
		return nil, err
	}
	set := "SET default_transaction_read_only = on; SET ostraka.ts_scope = 'node'; SET statement_timeout = 0"
	if zone != "" {
		set += "; SET TimeZone = " + sqltypes.QuoteLiteral(zone)
	}
	if _, err := c.Exec(start, set).ReadAll(); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return &remoteRows{node: id, conn: c, res: c.ExecParams(ctx, sql, nil, nil, nil, []int16{1}), types: types, row: make([]sqltypes.Datum, len(types)),
		env: &sqltypes.Env{Ctx: ctx, Formats: sqltypes.DefaultFormats()}}, nil
}

// remoteRows are the rows of another node's answer.
type remoteRows struct {
	node  string
	conn  *pgconn.PgConn
	res   *pgconn.ResultReader
	types []*sqltypes.Type
	row   []sqltypes.Datum
	env   *sqltypes.Env
}

// Next implements engine.PeerRows.
func (r *remoteRows) Next() ([]sqltypes.Datum, bool, error) {
	if !r.res.NextRow() {
		if _, err := r.res.Close(); err != nil {
			return nil, false, remoteError(r.node, err)
		}
		return nil, false, nil
	}
	for i, v := range r.res.Values() {
		if i >= len(r.row) {
			break // the column that stands for none
		}
		if v == nil {
			r.row[i] = sqltypes.Null
			continue
		}
		d, err := r.types[i].Recv(r.env, v, -1)
		if err != nil {
			return nil, false, err
		}
		if d.S != "" {
			d.S = strings.Clone(d.S)
		}
		r.row[i] = d
	}
	return r.row, true, nil
}

// Close implements engine.PeerRows.
func (r *remoteRows) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = r.conn.Close(ctx) // a statement that still runs ends with its session
}
