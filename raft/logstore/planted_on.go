//go:build planted

package logstore

import (
	"os"
	"sync"
	"time"
)

var plantedAck = os.Getenv("OSTRAKA_PLANTED") == "ack-before-fsync"

var plantedSync struct {
	sync.Mutex
	last time.Time
}

// syncs is the planted fault "ack-before-fsync": what is written counts as durable,
// and is synced now and then only. See torture.TestPlanted.
func syncs() bool {
	if !plantedAck {
		return true
	}
	plantedSync.Lock()
	defer plantedSync.Unlock()
	if time.Since(plantedSync.last) < 400*time.Millisecond {
		return false
	}
	plantedSync.last = time.Now()
	return true
}
