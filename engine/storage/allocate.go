package storage

import (
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Allocate makes a file of the operating system whose size is really taken from
// the disk, where the file system can do that.
func Allocate(path string, size int64) error {
	f, err := DefaultFS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(f.Preallocate(0, size), f.Close(), os.Truncate(path, size))
}
