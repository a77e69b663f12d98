package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A segment is a file of records of one group. Its header says which segment the
// log was in before and up to where that one counts:
//
//	magic "OSLG" | version u32 | group u32 | crc32c u32 | seq u64 | previous seq u64 | end in the previous u64 | 0 u64
//
// A record:
//
//	length of the body u32 | crc32c u32 | synced u64 | kind u8 | index u64 | body
//
// Numbers are little endian. The checksums of records cover the segment's number
// and the record's offset too, so that no other record can stand in for one.
// synced is how much of the file was known to be on stable storage when the
// record was written. Behind the last record the file is zero up to the next
// multiple of fillBytes, so that most appends change no metadata.
const (
	segmentMagic   = "OSLG"
	segmentVersion = 2
	segmentHeader  = 48
	recordHeader   = 25

	kindEntry  byte = 1 // a log entry
	kindAnchor byte = 2 // replaces the entry at its index, see Store.Anchor

	fillBytes = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is one open file.
type segment struct {
	seq, prevSeq uint64
	prevEnd      int64 // bytes of the previous segment that count
	path         string
	f            vfs.File
	end          int64  // where the next record goes
	filled       int64  // size of the file
	last         uint64 // newest index with a record here, 0: none
}

func segmentName(seq uint64) string { return fmt.Sprintf("%016x.seg", seq) }

func (g *segment) header(group uint32) []byte {
	b := append(make([]byte, 0, segmentHeader), segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, segmentVersion)
	b = binary.LittleEndian.AppendUint32(b, group)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, g.seq)
	b = binary.LittleEndian.AppendUint64(b, g.prevSeq)
	b = binary.LittleEndian.AppendUint64(b, uint64(g.prevEnd))
	b = binary.LittleEndian.AppendUint64(b, 0)
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b, castagnoli))
	return b
}

// parseHeader fills in the segment from its header.
func (g *segment) parseHeader(b []byte, group uint32) error {
	if len(b) < segmentHeader || string(b[:4]) != segmentMagic {
		return errors.New("it has no header of a log segment")
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != segmentVersion {
		return fmt.Errorf("format %d is not known (this program knows %d)", v, segmentVersion)
	}
	c := append([]byte(nil), b[:segmentHeader]...)
	binary.LittleEndian.PutUint32(c[12:], 0)
	if sum := crc32.Checksum(c, castagnoli); sum != binary.LittleEndian.Uint32(b[12:]) {
		return fmt.Errorf("checksum of the header is %08x, it says %08x", sum, binary.LittleEndian.Uint32(b[12:]))
	}
	if got, seq := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint64(b[16:]); got != group || seq != g.seq {
		return fmt.Errorf("it is segment %d of group %d", seq, got)
	}
	g.prevSeq, g.prevEnd = binary.LittleEndian.Uint64(b[24:]), int64(binary.LittleEndian.Uint64(b[32:]))
	return nil
}

// appendRecord appends a record of l that will stand at off, of which synced bytes
// of the file are known to be safe.
func appendRecord(buf []byte, seq uint64, off, synced int64, kind byte, index uint64, body func([]byte) []byte) []byte {
	begin := len(buf)
	buf = binary.LittleEndian.AppendUint64(buf, 0)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(synced))
	buf = append(buf, kind)
	buf = binary.LittleEndian.AppendUint64(buf, index)
	buf = body(buf)
	rec := buf[begin:]
	binary.LittleEndian.PutUint32(rec, uint32(len(rec)-recordHeader))
	binary.LittleEndian.PutUint32(rec[4:], recordSum(seq, off, rec))
	return buf
}

func recordSum(seq uint64, off int64, rec []byte) uint32 {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[:], seq)
	binary.LittleEndian.PutUint64(place[8:], uint64(off))
	sum := crc32.Update(0, castagnoli, place[:])
	sum = crc32.Update(sum, castagnoli, rec[:4])
	return crc32.Update(sum, castagnoli, rec[8:])
}

// parsed is a decoded record; body is part of what was decoded.
type parsed struct {
	size   int
	synced int64
	kind   byte
	index  uint64
	body   []byte
}

var (
	errShort = errors.New("record ends early")
	errEnd   = errors.New("no record")
)

// parseRecord reads the record at the beginning of data, which is at off of
// segment seq. errEnd: there are zeros only.
func parseRecord(data []byte, seq uint64, off int64) (r parsed, err error) {
	if len(data) < recordHeader {
		if len(data) == 0 {
			return r, errEnd
		}
		return r, errShort
	}
	n := binary.LittleEndian.Uint32(data)
	if n == 0 && binary.LittleEndian.Uint32(data[4:]) == 0 && data[16] == 0 {
		return r, errEnd
	}
	if uint64(n) > uint64(len(data)-recordHeader) {
		return r, errShort
	}
	r.size = recordHeader + int(n)
	data = data[:r.size]
	if got, sum := binary.LittleEndian.Uint32(data[4:]), recordSum(seq, off, data); got != sum {
		return r, fmt.Errorf("checksum is %08x, record says %08x", sum, got)
	}
	r.synced = int64(binary.LittleEndian.Uint64(data[8:]))
	r.kind, r.index, r.body = data[16], binary.LittleEndian.Uint64(data[17:]), data[recordHeader:]
	return r, nil
}

// proven looks behind a record that cannot be read for one that proves that it
// had been synced; -1 when there is none, so that it is a torn tail.
func proven(data []byte, seq uint64, bad int64) int64 {
	for p := bad + 1; p+recordHeader <= int64(len(data)); p++ {
		synced := int64(binary.LittleEndian.Uint64(data[p+8:]))
		if k := data[p+16]; k != kindEntry && k != kindAnchor || synced <= bad || synced > p {
			continue
		}
		if r, err := parseRecord(data[p:], seq, p); err == nil && r.synced == synced {
			return p
		}
	}
	return -1
}

func readFile(fsys vfs.FS, path string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// readHeader reads the header of a segment; found is false if there is no file.
func readHeader(fsys vfs.FS, path string) (b []byte, found bool, err error) {
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	b = make([]byte, segmentHeader)
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], true, errors.Join(err, f.Close())
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
