//go:build !planted

package logstore

import "github.com/cockroachdb/pebble/v2"

// logSync is how appended entries are written.
var logSync = pebble.Sync
