//go:build planted

package logstore

import "os"

// syncs is the planted fault "ack-before-fsync": entries are acknowledged before
// they are on disk. See torture.TestPlanted.
var syncs = os.Getenv("OSTRAKA_PLANTED") != "ack-before-fsync"
