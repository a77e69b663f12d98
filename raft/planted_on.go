//go:build planted

package raft

import (
	"context"
	"os"
	"sync/atomic"
	"time"
)

// plantedStaleBarrier is the planted fault "local-read": a read barrier confirms
// whatever this node happens to have. See torture.TestPlanted.
var plantedStaleBarrier = os.Getenv("OSTRAKA_PLANTED") == "local-read"

var plantedTwice = os.Getenv("OSTRAKA_PLANTED") == "apply-twice"

var plantedCount atomic.Int64

// plantedAgain is the planted fault "apply-twice": now and then what was committed
// is proposed again a little later, as by a retry that does not know better.
func (g *Group) plantedAgain(term uint64, payload []byte) {
	if !plantedTwice || plantedCount.Add(1)%20 != 0 {
		return
	}
	payload = append([]byte(nil), payload...)
	go func() {
		time.Sleep(30 * time.Millisecond)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = g.batcher.propose(ctx, term, payload)
	}()
}
