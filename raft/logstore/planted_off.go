//go:build !planted

package logstore

// syncs: what is written is synced before it counts as durable.
func syncs() bool { return true }
