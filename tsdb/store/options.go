package store

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a store; zero values are the defaults given.
type Options struct {
	// Dir holds everything. FS is where it is; the system's.
	Dir string
	FS  vfs.FS
	// Cache is shared with other stores of the process; nil: 16 MiB of its own.
	Cache *pebble.Cache
	// FlushBytes of rows in memory start a flush to chunks; 64 MiB.
	FlushBytes int64
	// MaxBytes of rows in memory; past it writers wait, then 53200; 3 × FlushBytes.
	MaxBytes int64
	// MaxSeries that the store may know; 53400 past it; 1,000,000.
	MaxSeries int
	// MaxTagBytes that the tags of all series may take, as they are kept; 53400 past it;
	// 512 MiB. With indexes, memory for series is about three times as much.
	MaxTagBytes int64
	// ChunkRows of a full chunk; 512.
	ChunkRows int
	// CompactAfter flushes into one window its small and overlapping chunks are merged; 4.
	CompactAfter int
	Logger       *slog.Logger
	// Fatal is told of an error of the log, after which nothing can be written any
	// more until the store is opened again; may be nil.
	Fatal func(error)
}

func (o *Options) fill() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.FlushBytes <= 0 {
		o.FlushBytes = 64 << 20
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 3 * o.FlushBytes
	}
	if o.MaxSeries <= 0 {
		o.MaxSeries = 1_000_000
	}
	if o.MaxTagBytes <= 0 {
		o.MaxTagBytes = 512 << 20
	}
	if o.ChunkRows <= 0 {
		o.ChunkRows = 512
	}
	if o.CompactAfter <= 0 {
		o.CompactAfter = 4
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}
