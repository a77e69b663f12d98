package transport

import (
	"errors"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestLazyLog: a leader does not tell of commits that rely on entries it has only
// written, and a follower vouches for nothing it has only written.
func TestLazyLog(t *testing.T) {
	flushed := 0
	var fail error
	tr := &Transport{cfg: Config{
		Durable: func() uint64 { return 5 },
		Flush:   func() error { flushed++; return fail },
	}}
	for commit, want := range map[uint64]uint64{0: 0, 4: 4, 5: 5, 9: 5} {
		q := &hraft.AppendEntriesRequest{LeaderCommitIndex: commit}
		if tr.clamp(q); q.LeaderCommitIndex != want {
			t.Errorf("commit index %d is told as %d, want %d", commit, q.LeaderCommitIndex, want)
		}
	}
	answers := make(chan hraft.RPCResponse, 1)
	rpc := hraft.RPC{Command: &hraft.AppendEntriesRequest{}, RespChan: answers}
	if tr.refuse(&rpc) || flushed != 1 {
		t.Errorf("a request reached raft after %d flushes", flushed)
	}
	fail = errors.New("input/output error")
	if !tr.refuse(&rpc) {
		t.Error("a request reached raft although the log could not be flushed")
	}
	if a := <-answers; !errors.Is(a.Error, fail) {
		t.Errorf("answer %v", a.Error)
	}
}
