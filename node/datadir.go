package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ostraka/engine/storage"
)

// dataFormat is the version of the layout of the data directory; it stands in
// the file FORMAT and changes when an older binary could not read a newer
// directory or the other way round.
const dataFormat = "ostraka data 1"

// dataDir is an opened data directory: the layout is
//
//	FORMAT          version of the layout
//	node            the node's id
//	cluster.id      the cluster that the data belongs to
//	audit.log       calls of functions that change the cluster
//	cluster.secret  the cluster's join secret; a copy of --secret-file once that has let the node in
//	log/            Raft log of all groups
//	shard-0/        state of the home shard
//	reserve         room that is given up when the disk is full
//	damaged-…/      states that --rebuild has set aside
//	tmp/            spill files, emptied at start
//	LOCK            held by the process that uses the directory
type dataDir struct {
	root string
	lock io.Closer
}

// openDataDir creates the directory or checks that it is one of ours and of this node.
func openDataDir(root, nodeID string) (*dataDir, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	d := &dataDir{root: root}
	format, err := os.ReadFile(d.path("FORMAT"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("data directory %s is neither empty nor a data directory of Ostraka (it has no file FORMAT)", root)
		}
		if err := d.write("node", nodeID); err != nil {
			return nil, err
		}
		if err := d.write("FORMAT", dataFormat); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("data directory: %w", err)
	case strings.TrimSpace(string(format)) != dataFormat:
		return nil, fmt.Errorf("data directory %s has format %q, this program needs %q", root, strings.TrimSpace(string(format)), dataFormat)
	}
	id, err := os.ReadFile(d.path("node"))
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if got := strings.TrimSpace(string(id)); got != nodeID {
		return nil, fmt.Errorf("data directory %s belongs to node %s, not to node %s: set --node-id=%s", root, got, nodeID, got)
	}
	if d.lock, err = storage.LockFile(d.path("LOCK")); err != nil {
		return nil, fmt.Errorf("data directory %s is in use by another process (%w)", root, err)
	}
	if err := os.RemoveAll(d.path("tmp")); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return d, os.MkdirAll(d.path("tmp"), 0o700)
}

func (d *dataDir) path(name string) string { return filepath.Join(d.root, name) }

// write puts a small file in place durably.
func (d *dataDir) write(name, content string) error {
	tmp := d.path(name + ".tmp")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	_, err = f.WriteString(content + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, d.path(name))
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return syncDir(d.root)
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
