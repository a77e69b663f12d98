package shard_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/shard"
	"ostraka/engine/storage"
	"ostraka/raft"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// node is one replica over the real log.
type node struct {
	host  *raft.Host
	group *raft.Group
	shard *shard.Shard
}

func startNode(t *testing.T, id int, dir, addr string) *node {
	t.Helper()
	h, err := raft.OpenHost(raft.HostConfig{NodeID: fmt.Sprint(id), Dir: filepath.Join(dir, "raft"), ListenAddr: addr,
		Timers: raft.Timers{Heartbeat: 300 * time.Millisecond}, Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Open(shard.Options{Dir: filepath.Join(dir, "shard"), MemTableSize: 1 << 20, FS: storage.DefaultFS})
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.OpenGroup(raft.GroupConfig{ID: 0, Applier: s.Applier(), StagingDir: filepath.Join(dir, "staging"), TrailingEntries: 10, TrailingBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.AttachLog(g)
	return &node{h, g, s}
}

func (n *node) stop(t *testing.T) {
	if err := n.group.Close(); err != nil {
		t.Error(err)
	}
	if err := n.shard.Close(); err != nil {
		t.Error(err)
	}
	if err := n.host.Close(); err != nil {
		t.Error(err)
	}
}

// The engine over Raft: three replicas agree, a leader change loses nothing that
// was acknowledged, and a restarted and a new node catch up.
func TestOverRaft(t *testing.T) {
	if testing.Short() {
		t.Skip("three nodes with disks")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	root := t.TempDir()
	nodes := make([]*node, 5)
	dir := func(i int) string { return filepath.Join(root, fmt.Sprint(i)) }
	for i := 1; i <= 3; i++ {
		nodes[i] = startNode(t, i, dir(i), "127.0.0.1:0")
	}
	defer func() {
		for _, n := range nodes {
			if n != nil {
				n.stop(t)
			}
		}
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(nodes[1].group.Bootstrap(ctx))
	for i := 2; i <= 3; i++ {
		_, err := nodes[1].group.AddLearner(ctx, fmt.Sprint(i), nodes[i].host.Addr())
		must(err)
	}
	_, err := nodes[1].group.ChangeMembership(ctx, []string{"1", "2", "3"})
	must(err)

	db := catalog.PostgresDB
	begin := func() engine.Txn {
		for {
			for _, n := range nodes {
				if n == nil {
					continue
				}
				tx, err := n.shard.Begin(ctx, engine.TxnOptions{Database: db})
				if err == nil {
					must(tx.StartStatement(ctx))
					return tx
				}
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	tx := begin()
	oid, err := tx.Schema().NewOID(ctx)
	must(err)
	sid, err := tx.Schema().NewStorageID(ctx)
	must(err)
	tx.Schema().PutRelation(&catalog.Relation{OID: oid, Name: "t", Schema: catalog.SchemaPublic, Kind: catalog.KindTable, StorageID: sid,
		Columns: []*catalog.Column{{Name: "a", Type: sqltypes.ColumnType{OID: 23, TypMod: -1}}, {Name: "n", Type: sqltypes.ColumnType{OID: 20, TypMod: -1}}},
		Indexes: []*catalog.Index{{OID: oid + 1, Name: "t_pkey", Unique: true, Primary: true, Clustered: true, Ready: true, Keys: []catalog.IndexKey{{Attr: 1}}}}})
	_, _, err = tx.Insert(ctx, &engine.WriteTarget{Rel: tx.Catalog().Relation(oid)}, []sqltypes.Datum{sqltypes.Int(1), sqltypes.Int(0)}, nil)
	must(err)
	_, err = tx.Commit(ctx)
	must(err)

	// Clients increment; unknown outcomes are counted apart.
	var mu sync.Mutex
	acked, unknown := int64(0), int64(0)
	run := func(clients, each int, disturb func()) {
		var wg sync.WaitGroup
		for range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range each {
					tx := begin()
					rel := tx.Catalog().Relation(oid)
					row := make([]sqltypes.Datum, 2)
					ref, _, err := tx.LookupNewest(ctx, rel, nil, []sqltypes.Datum{sqltypes.Int(1)}, engine.LockNoKeyUpdate, row)
					if err == nil {
						_, err = tx.Update(ctx, &engine.WriteTarget{Rel: rel}, ref, row, []sqltypes.Datum{row[0], sqltypes.Int(row[1].I + 1)})
					}
					if err == nil {
						_, err = tx.Commit(ctx)
					}
					tx.Rollback()
					mu.Lock()
					switch code := pgerror.CodeOf(err); {
					case err == nil:
						acked++
					case code == pgerror.TRStatementCompletionUnknown:
						unknown++
					case code != pgerror.TRSerializationFailure:
						t.Error(err)
					}
					mu.Unlock()
				}
			}()
		}
		disturb()
		wg.Wait()
	}
	run(8, 20, func() {})
	if acked != 160 {
		t.Fatalf("%d of 160 acknowledged", acked)
	}
	run(8, 20, func() {
		for i := 1; i <= 3; i++ {
			if nodes[i].group.Leadership().IsLeader {
				if err := nodes[i].group.TransferLeadership(ctx, fmt.Sprint(i%3+1)); err != nil {
					t.Log(err)
				}
				return
			}
		}
	})
	read := func(n *node) int64 {
		v, err := n.shard.View(ctx, db)
		must(err)
		defer v.Close()
		row := make([]sqltypes.Datum, 1)
		_, found, err := v.Get(ctx, v.Catalog().Relation(oid), nil, []sqltypes.Datum{sqltypes.Int(1)}, []int16{2}, row)
		must(err)
		if !found {
			t.Fatal("the row is gone")
		}
		return row[0].I
	}
	check := func(what string) {
		t.Helper()
		tx := begin()
		must(tx.Notify("x", what)) // something to commit
		pos, err := tx.Commit(ctx)
		must(err)
		want := int64(-1)
		for i, n := range nodes {
			if n == nil {
				continue
			}
			if err := n.shard.WaitApplied(ctx, pos); err != nil {
				t.Fatalf("%s: node %d is at %v, not at %v: %v", what, i, n.shard.Applied(), pos, err)
			}
			got := read(n)
			if got < acked || got > acked+unknown || want >= 0 && got != want {
				t.Fatalf("%s: node %d has %d, acknowledged %d, unknown %d, others %d", what, i, got, acked, unknown, want)
			}
			want = got
		}
	}
	check("after a leader change")
	addr := nodes[2].host.Addr()
	nodes[2].stop(t)
	nodes[2] = nil
	run(4, 20, func() {})
	nodes[2] = startNode(t, 2, dir(2), addr)
	check("after a restart")

	// A node that joins after the log was truncated gets a checkpoint.
	run(4, 20, func() {})
	nodes[4] = startNode(t, 4, dir(4), "127.0.0.1:0")
	leader := nodes[1]
	for _, n := range nodes[1:4] {
		if n.group.Leadership().IsLeader {
			leader = n
		}
	}
	_, err = leader.group.AddLearner(ctx, "4", nodes[4].host.Addr())
	must(err)
	check("with a fourth node")
}
