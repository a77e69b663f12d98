package storage

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/sqltypes/pgerror"
)

// Damaged reports whether an error says that a file's content is not what was written.
func Damaged(err error) bool {
	var pe *pgerror.Error
	return pebble.IsCorruptionError(err) || errors.As(err, &pe) && pe.Code == pgerror.DataCorrupted
}

// ReadError gives an error of a damaged file its SQLSTATE (XX001) and what to do
// about it; other errors are returned as they are.
func ReadError(err error) error {
	var pe *pgerror.Error
	if err == nil || !pebble.IsCorruptionError(err) || errors.As(err, &pe) {
		return err
	}
	return pgerror.Wrap(err, pgerror.DataCorrupted, "the stored state of this node is damaged").
		WithDetail("%s", err.Error()).
		WithHint("Stop the node and start it with --rebuild and --join=ADDRESS of another member: it then takes its state from them.")
}
