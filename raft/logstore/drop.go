package logstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// droppedPrefix is what the directory of a dropped group is called while it is removed.
const droppedPrefix = "dropped-"

// Drop removes everything of a group, durably. Its stores must not be in use.
func (d *DB) Drop(group uint32) error {
	if err := d.DropLog(group); err != nil {
		return err
	}
	from, to := stableKey(group, nil), []byte{spaceStable + 1}
	if group != ^uint32(0) {
		to = stableKey(group+1, nil)
	}
	return d.write(func() error { return d.db.DeleteRange(from, to, pebble.Sync) })
}

// DropLog removes a group's entries, durably, and keeps its stable records.
func (d *DB) DropLog(group uint32) error {
	fsys := d.opts.FS
	dir := fsys.PathJoin(d.path, groupDir(group))
	if _, err := fsys.Stat(dir); err == nil {
		gone := fsys.PathJoin(d.path, droppedPrefix+groupDir(group))
		if err := errors.Join(fsys.RemoveAll(gone), fsys.Rename(dir, gone), syncDir(fsys, d.path), fsys.RemoveAll(gone)); err != nil {
			return fmt.Errorf("raft log %s: dropping group %d: %w", d.path, group, err)
		}
	}
	return nil
}

// removeDropped finishes what a crash in Drop has left.
func (d *DB) removeDropped() error {
	names, err := d.opts.FS.List(d.path)
	for _, n := range names {
		if strings.HasPrefix(n, droppedPrefix) {
			err = errors.Join(err, d.opts.FS.RemoveAll(d.opts.FS.PathJoin(d.path, n)))
		}
	}
	return err
}
