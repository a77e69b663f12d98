package store

import (
	"encoding/binary"
	"fmt"
)

// Keys (docs/formats/timeseries.md), numbers big endian, times with the sign bit
// flipped so that bytes order as numbers do:
//
//	'M' name                                   → store-wide numbers
//	'T' table                                  → the table's definition
//	'S' table series                           → the series' tags
//	'C' table window series start generation   → chunk

func u64key(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }
func timeKey(b []byte, t int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(t)^1<<63) }
func tableKey(id uint64) []byte        { return u64key([]byte{'T'}, id) }

func seriesKey(table uint64, sid uint32) []byte {
	return binary.BigEndian.AppendUint32(u64key([]byte{'S'}, table), sid)
}

// cellKey is the prefix of the chunks of one series in one window.
func cellKey(b []byte, table uint64, window int64, sid uint32) []byte {
	b = timeKey(u64key(append(b[:0], 'C'), table), window)
	return binary.BigEndian.AppendUint32(b, sid)
}

func windowKey(table uint64, window int64) []byte {
	return timeKey(u64key([]byte{'C'}, table), window)
}

func chunkKey(b []byte, table uint64, window int64, sid uint32, start int64, gen uint64) []byte {
	return u64key(timeKey(cellKey(b, table, window, sid), start), gen)
}

const chunkKeyLen = 1 + 8 + 8 + 4 + 8 + 8

type chunkID struct {
	window int64
	sid    uint32
	start  int64
	gen    uint64
}

func parseChunkKey(k []byte) (chunkID, error) {
	if len(k) != chunkKeyLen || k[0] != 'C' {
		return chunkID{}, fmt.Errorf("time series: key %x is no chunk's", k)
	}
	t := func(at int) int64 { return int64(binary.BigEndian.Uint64(k[at:]) ^ 1<<63) }
	return chunkID{window: t(9), sid: binary.BigEndian.Uint32(k[17:]), start: t(21), gen: binary.BigEndian.Uint64(k[29:])}, nil
}

// prefixEnd is the first key after all keys that begin with k.
func prefixEnd(k []byte) []byte {
	out := append([]byte(nil), k...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]++; out[i] != 0 {
			return out[:i+1]
		}
	}
	return nil
}

// windowOf is the start of the window that t lies in.
func windowOf(t, width int64) int64 {
	w := t % width
	if w < 0 {
		w += width
	}
	if t < -1<<63+w {
		return -1 << 63
	}
	return t - w
}
