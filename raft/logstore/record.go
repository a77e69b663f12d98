package logstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Key spaces of the database: one byte of space, then for stable records four
// bytes of group (big endian) and the name.
const (
	spaceFormat byte = 'f'
	spaceStable byte = 's'
)

// recordVersion is the first byte of every value of the database.
const recordVersion = 1

const headerLen = 1 + 4 // version, crc32c

// CorruptError names a record that cannot be what was written.
type CorruptError struct {
	Path   string // directory of the log database, or the segment
	Group  uint32
	Index  uint64 // log index, 0 for a stable record
	Name   string // name of a stable record
	Reason string
}

func (e *CorruptError) Error() string {
	where := fmt.Sprintf("index %d", e.Index)
	if e.Name != "" {
		where = "stable record " + e.Name
	}
	return fmt.Sprintf("raft log %s: group %d, %s: %s", e.Path, e.Group, where, e.Reason)
}

func stableKey(group uint32, name []byte) []byte {
	buf := append(make([]byte, 0, 5+len(name)), spaceStable)
	buf = binary.BigEndian.AppendUint32(buf, group)
	return append(buf, name...)
}

// seal fills in the header of buf, whose body begins at headerLen. The checksum
// covers the key too, so that a record found under another key is corrupt.
func seal(key, buf []byte) {
	buf[0] = recordVersion
	crc := crc32.Update(0, castagnoli, key)
	crc = crc32.Update(crc, castagnoli, buf[headerLen:])
	binary.LittleEndian.PutUint32(buf[1:], crc)
}

// unseal returns the body of a record read under key.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < headerLen {
		return nil, fmt.Errorf("record of %d bytes is shorter than its header", len(value))
	}
	if value[0] != recordVersion {
		return nil, fmt.Errorf("record version %d is not known (this program knows %d)", value[0], recordVersion)
	}
	crc := crc32.Update(0, castagnoli, key)
	crc = crc32.Update(crc, castagnoli, value[headerLen:])
	if got := binary.LittleEndian.Uint32(value[1:]); got != crc {
		return nil, fmt.Errorf("checksum is %08x, record says %08x", crc, got)
	}
	return value[headerLen:], nil
}

// appendLog appends the body of the record of l to buf.
func appendLog(buf []byte, l *hraft.Log) []byte {
	buf = append(buf, byte(l.Type))
	buf = binary.AppendUvarint(buf, l.Term)
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	buf = binary.AppendVarint(buf, at)
	buf = binary.AppendUvarint(buf, uint64(len(l.Extensions)))
	buf = append(buf, l.Extensions...)
	return append(buf, l.Data...)
}

// decodeLog fills l from a record body; Data and Extensions are copies.
func decodeLog(index uint64, body []byte, l *hraft.Log) error {
	if len(body) == 0 {
		return errShort
	}
	typ, body := body[0], body[1:]
	term, n := binary.Uvarint(body)
	if n <= 0 {
		return errShort
	}
	body = body[n:]
	at, n := binary.Varint(body)
	if n <= 0 {
		return errShort
	}
	body = body[n:]
	ext, n := binary.Uvarint(body)
	if n <= 0 || ext > uint64(len(body)-n) {
		return errShort
	}
	body = body[n:]
	*l = hraft.Log{Index: index, Term: term, Type: hraft.LogType(typ)}
	if at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	if ext > 0 {
		l.Extensions = append([]byte(nil), body[:ext]...)
	}
	if rest := body[ext:]; len(rest) > 0 {
		l.Data = append([]byte(nil), rest...)
	}
	return nil
}
