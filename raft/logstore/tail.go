package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The layout of a WAL chunk with a sync offset, in blocks of 32 KiB (documented
// in pebble's package record): CRC (4), size (2), type (1), log number (4), offset
// up to which the file was synced when the chunk was written (8), payload.
const (
	walBlock         = 32 << 10
	walHeader        = 19
	walFirstType     = 9
	walLastType      = 12
	walMaskDelta     = 0xa282ead8
	walMaskShiftBits = 15
)

// checkTails refuses a database whose WAL is damaged before a place that is known
// to have been synced. pebble ends a replay at the first chunk it cannot read and
// looks for later ones in later blocks only, so damage in the last block would
// pass as a torn tail and acknowledged entries behind it would be gone. A chunk
// that was never followed by a synced one cannot be told from a torn tail.
func checkTails(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("raft log %s: %w", dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		digits, isLog := strings.CutSuffix(name, ".log")
		num, err := strconv.ParseUint(digits, 10, 64)
		if !isLog || err != nil {
			continue
		}
		path := fsys.PathJoin(dir, name)
		data, err := readFile(fsys, path)
		if err != nil {
			return fmt.Errorf("raft log %s: %w", path, err)
		}
		if bad, later := syncedDamage(data, uint32(num)); later >= 0 {
			return fmt.Errorf("raft log %s after offset %d: damaged: a record there was synced (the one at %d says so) and cannot be read; "+
				"restore the node's data directory or remove it and let the node join anew", path, bad, later)
		}
	}
	return nil
}

// isNew reports that no database has been made in dir.
func isNew(fsys vfs.FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "marker.manifest") }), err
}

// syncedDamage finds the first unreadable chunk and a later one that proves that it
// had been synced; later is -1 when there is no proof.
func syncedDamage(data []byte, num uint32) (bad, later int) {
	pos := 0
	for {
		if walBlock-pos%walBlock < walHeader {
			pos += walBlock - pos%walBlock
		}
		size, _, ok := chunkAt(data, pos, num)
		if !ok {
			break
		}
		pos += size
	}
	for p := pos + 1; p+walHeader <= len(data); p++ {
		if _, synced, ok := chunkAt(data, p, num); ok && synced > uint64(pos) {
			return pos, p
		}
	}
	return pos, -1
}

// chunkAt reads the chunk at pos: its size with the header and its sync offset.
func chunkAt(data []byte, pos int, num uint32) (size int, synced uint64, ok bool) {
	if pos+walHeader > len(data) {
		return 0, 0, false
	}
	h := data[pos : pos+walHeader]
	if h[6] < walFirstType || h[6] > walLastType || binary.LittleEndian.Uint32(h[7:]) != num {
		return 0, 0, false
	}
	size = walHeader + int(binary.LittleEndian.Uint16(h[4:]))
	if pos+size > len(data) || pos%walBlock+size > walBlock {
		return 0, 0, false
	}
	sum := crc32.Checksum(data[pos+6:pos+size], castagnoli)
	sum = (sum>>walMaskShiftBits | sum<<(32-walMaskShiftBits)) + walMaskDelta
	return size, binary.LittleEndian.Uint64(h[11:]), sum == binary.LittleEndian.Uint32(h)
}
