package logstore

import (
	"github.com/cockroachdb/pebble/v2"
)

// Drop removes everything of a group, durably. Its stores must not be in use.
func (d *DB) Drop(group uint32) error {
	lower, upper := groupBounds(group)
	from, to := stableKey(group, nil), []byte{spaceStable + 1}
	if group != ^uint32(0) {
		to = stableKey(group+1, nil)
	}
	return d.write(func() error {
		b := d.db.NewBatch()
		defer b.Close()
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return err
		}
		if err := b.DeleteRange(from, to, nil); err != nil {
			return err
		}
		return b.Commit(pebble.Sync)
	})
}
