package shard

import (
	"fmt"
	"io"
	"strings"

	"ostraka/engine/storage"
)

// currentFile names the directory that holds the live state; replacing it is the
// commit point of a restore.
const currentFile = "CURRENT-STATE"

// liveDir finds (or makes) the live state directory and removes the others.
func liveDir(fs storage.FS, root string) (string, error) {
	if err := fs.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	// The root's own entry must survive a crash; its parents are the caller's.
	if err := syncDir(fs, fs.PathDir(root)); err != nil {
		return "", err
	}
	name := "state-0"
	f, err := fs.Open(fs.PathJoin(root, currentFile))
	switch {
	case err == nil:
		b, err := io.ReadAll(io.LimitReader(f, 256))
		if err := firstError(err, f.Close()); err != nil {
			return "", err
		}
		name = strings.TrimSpace(string(b))
		if !strings.HasPrefix(name, "state-") || strings.ContainsAny(name, "/\\") {
			return "", fmt.Errorf("shard: %s names %q, no state directory", fs.PathJoin(root, currentFile), name)
		}
	case !isNotExist(err):
		return "", err
	default:
		if err := setLiveDir(fs, root, name); err != nil {
			return "", err
		}
	}
	names, err := fs.List(root)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if strings.HasPrefix(n, "state-") && n != name {
			if err := fs.RemoveAll(fs.PathJoin(root, n)); err != nil {
				return "", err
			}
		}
	}
	return fs.PathJoin(root, name), nil
}

// setLiveDir makes name the live directory, atomically and durably.
func setLiveDir(fs storage.FS, root, name string) error {
	tmp := fs.PathJoin(root, currentFile+".tmp")
	f, err := storage.CreateFile(fs, tmp)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(name + "\n"))
	if err := firstError(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(tmp, fs.PathJoin(root, currentFile)); err != nil {
		return err
	}
	return syncDir(fs, root)
}

func syncDir(fs storage.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return firstError(d.Sync(), d.Close())
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
