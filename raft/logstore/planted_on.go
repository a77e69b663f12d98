//go:build planted

package logstore

import (
	"os"

	"github.com/cockroachdb/pebble/v2"
)

// logSync is the planted fault "ack-before-fsync": entries are acknowledged before
// they are on disk. See torture.TestPlanted.
var logSync = func() *pebble.WriteOptions {
	if os.Getenv("OSTRAKA_PLANTED") == "ack-before-fsync" {
		return pebble.NoSync
	}
	return pebble.Sync
}()
