package snapshot

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/engine/commitlog"
)

// A stream is
//
//	"OSCK" | version u8 | header length u32 | header (JSON) | crc32c u32
//	then per file of the header: its bytes | crc32c u32
//
// Numbers are big endian.
const (
	streamMagic   = "OSCK"
	streamVersion = 1
	maxHeader     = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrStream is returned for a stream that is damaged, ends early or is unknown.
var ErrStream = errors.New("checkpoint stream is damaged")

// header describes a checkpoint.
type header struct {
	State commitlog.AppliedState `json:"state"`
	Files []file                 `json:"files"`
}

type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// list returns the files below dir with slash-separated names.
func list(fs vfs.FS, dir, prefix string) ([]file, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, n := range names {
		path := fs.PathJoin(dir, n)
		info, err := fs.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			sub, err := list(fs, path, prefix+n+"/")
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
			continue
		}
		out = append(out, file{Name: prefix + n, Size: info.Size()})
	}
	return out, nil
}

func encodeHeader(h header) ([]byte, error) {
	body, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	out := append([]byte(streamMagic), streamVersion)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(body, castagnoli)), nil
}

// packer reads a checkpoint directory as a stream.
type packer struct {
	fs    vfs.FS
	dir   string
	files []file
	head  []byte // what is left of the header or of a checksum
	cur   vfs.File
	left  int64
	sum   hash.Hash32
	total int64
}

// newPacker returns a reader of the stream of dir and sets its total length.
func newPacker(fs vfs.FS, dir string, st commitlog.AppliedState) (*packer, error) {
	files, err := list(fs, dir, "")
	if err != nil {
		return nil, err
	}
	head, err := encodeHeader(header{State: st, Files: files})
	if err != nil {
		return nil, err
	}
	p := &packer{fs: fs, dir: dir, files: files, head: head, total: int64(len(head))}
	for _, f := range files {
		p.total += f.Size + 4
	}
	return p, nil
}

func (p *packer) Read(b []byte) (int, error) {
	for {
		switch {
		case len(p.head) > 0:
			n := copy(b, p.head)
			p.head = p.head[n:]
			return n, nil
		case p.cur != nil && p.left > 0:
			n, err := p.cur.Read(b[:min(int64(len(b)), p.left)])
			p.sum.Write(b[:n])
			p.left -= int64(n)
			if n > 0 {
				return n, nil
			}
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("reading checkpoint file: %w", err)
		case p.cur != nil:
			p.head = binary.BigEndian.AppendUint32(nil, p.sum.Sum32())
			p.cur.Close()
			p.cur = nil
		case len(p.files) > 0:
			f := p.files[0]
			p.files = p.files[1:]
			cur, err := p.fs.Open(p.fs.PathJoin(p.dir, f.Name), vfs.SequentialReadsOption)
			if err != nil {
				return 0, fmt.Errorf("reading checkpoint file: %w", err)
			}
			p.cur, p.left, p.sum = cur, f.Size, crc32.New(castagnoli)
		default:
			return 0, io.EOF
		}
	}
}

func (p *packer) close() {
	if p.cur != nil {
		p.cur.Close()
		p.cur = nil
	}
}

// unpack writes the stream r into dir, which it creates, and syncs everything.
func unpack(fs vfs.FS, r io.Reader, dir string) (commitlog.AppliedState, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	h, err := readHeader(br)
	if err != nil {
		return commitlog.AppliedState{}, err
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return commitlog.AppliedState{}, err
	}
	for _, f := range h.Files {
		if err := unpackFile(fs, br, dir, f); err != nil {
			return commitlog.AppliedState{}, fmt.Errorf("checkpoint file %s: %w", f.Name, err)
		}
	}
	if _, err := br.ReadByte(); err != io.EOF {
		return commitlog.AppliedState{}, fmt.Errorf("%w: bytes after its end", ErrStream)
	}
	return h.State, syncDir(fs, dir)
}

func readHeader(r io.Reader) (header, error) {
	var h header
	fixed := make([]byte, len(streamMagic)+5)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return h, fmt.Errorf("%w: %w", ErrStream, err)
	}
	if string(fixed[:4]) != streamMagic || fixed[4] != streamVersion {
		return h, fmt.Errorf("%w: begins with %x", ErrStream, fixed[:5])
	}
	n := binary.BigEndian.Uint32(fixed[5:])
	if n > maxHeader {
		return h, fmt.Errorf("%w: header of %d bytes", ErrStream, n)
	}
	body := make([]byte, n+4)
	if _, err := io.ReadFull(r, body); err != nil {
		return h, fmt.Errorf("%w: %w", ErrStream, err)
	}
	if crc32.Checksum(body[:n], castagnoli) != binary.BigEndian.Uint32(body[n:]) {
		return h, fmt.Errorf("%w: checksum of the header", ErrStream)
	}
	if err := json.Unmarshal(body[:n], &h); err != nil {
		return h, fmt.Errorf("%w: %w", ErrStream, err)
	}
	return h, nil
}

func unpackFile(fs vfs.FS, r io.Reader, dir string, f file) error {
	parts := strings.Split(f.Name, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || strings.ContainsAny(p, `\:`) {
			return fmt.Errorf("%w: bad file name", ErrStream)
		}
	}
	parent := fs.PathJoin(append([]string{dir}, parts[:len(parts)-1]...)...)
	if parent != dir {
		if err := fs.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	out, err := fs.Create(fs.PathJoin(parent, parts[len(parts)-1]), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	// The sum first: a vfs.File may change the buffer it is given to write.
	_, err = io.CopyN(io.MultiWriter(sum, out), r, f.Size)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	var tail [4]byte
	if _, err := io.ReadFull(r, tail[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrStream, err)
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return fmt.Errorf("%w: checksum", ErrStream)
	}
	if parent != dir {
		return syncDir(fs, parent)
	}
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
