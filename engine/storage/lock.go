package storage

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// LockFile makes path, when absent, and locks it for this process until the
// closer is closed; it fails at once when another process holds it.
func LockFile(path string) (io.Closer, error) { return vfs.Default.Lock(path) }
