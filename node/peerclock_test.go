package node

import (
	"strings"
	"testing"
	"time"

	"ostraka/peer"
)

// TestPeerClocksDiffer: a node whose clock is far off is a peer all the same. Its
// sessions on the leader know under which name its transactions are asked for, and
// to which term they belong; were they taken for an ordinary client's, what they
// commit would be called aborted.
func TestPeerClocksDiffer(t *testing.T) {
	c := demoCluster(t)
	leader := c.leader()
	q := dial(t, leader)
	q.do("CREATE TABLE peerclock (v int)")
	defer q.do("DROP TABLE peerclock")
	o := peer.Options{Addr: leader.advertised(), User: "postgres", Database: "postgres", Node: c.follower().ID(), Secret: leader.secret}
	for _, ahead := range []time.Duration{0, 48 * time.Hour, -time.Hour} {
		o.Now = time.Now().Add(ahead)
		up, err := peer.Dial(bounded(t), o)
		if err != nil {
			t.Fatalf("%v ahead: %v", ahead, err)
		}
		name := up.Transaction()
		if err := up.Send('Q', []byte("INSERT INTO peerclock VALUES (1)\x00")); err != nil {
			t.Fatal(err)
		}
		if err := up.Flush(); err != nil {
			t.Fatal(err)
		}
		for kind := byte(0); kind != 'Z'; {
			var body []byte
			if kind, body, err = up.Receive(bounded(t)); err != nil || kind == 'E' {
				t.Fatal(string(body), err)
			}
		}
		up.Close()
		q.want("SELECT ostraka_transaction_status('"+name+"')", "committed")
	}
	q.want("SELECT count(*) FROM peerclock", "3")
}

// TestFalsePeer: who says that it is a node and cannot prove it gets no session.
func TestFalsePeer(t *testing.T) {
	c := demoCluster(t)
	o := peer.Options{Addr: c.leader().advertised(), User: "postgres", Database: "postgres", Node: "1", Secret: []byte(strings.Repeat("x", 32)), Now: time.Now()}
	if pc, err := peer.Connect(bounded(t), o); err == nil {
		_ = pc.Close(bounded(t))
		t.Error("a session with a wrong secret was opened")
	} else if sqlState(err) != "28000" {
		t.Error(err)
	}
}
