package txn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A run is a sorted, immutable part of a Buffer that was written to a file to
// save memory. The file has no name any more: it goes with the last Buffer that
// refers to it.
//
// Records: uvarint key length, key, uvarint 0 (deleted) or value length + 1,
// uvarint seq, value. They are read in blocks, whose first keys are in memory.
type run struct {
	f      *os.File
	blocks []runBlock
	last   string // the greatest key
	end    int64
	n      int
	bloom  []uint64
	err    atomic.Pointer[error] // the first error of a read
}

type runBlock struct {
	first string
	off   int64
}

const runBlockSize = 16 << 10

var bloomSeed = maphash.MakeSeed()

// bloomBits yields the two words of a key in a filter of n words, and two bits in each.
func bloomBits(key string, n int) (w1, b1, w2, b2 uint64) {
	h := maphash.String(bloomSeed, key)
	return (h >> 24) % uint64(n), 1<<(h&63) | 1<<(h>>6&63), (h >> 40) % uint64(n), 1<<(h>>12&63) | 1<<(h>>18&63)
}

// writeRun writes pairs in key order to a new file in dir.
func writeRun(dir string, n int, ascend func(f func(key string, w Write) bool)) (*run, error) {
	f, err := os.CreateTemp(dir, "txn-*")
	if err != nil {
		return nil, fmt.Errorf("txn: spilling: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("txn: spilling: %w", err), f.Close())
	}
	r := &run{f: f, n: n, bloom: make([]uint64, n/6+1)}
	buf := make([]byte, 0, runBlockSize+4096)
	first := ""
	flush := func() {
		if len(buf) == 0 || err != nil {
			return
		}
		r.blocks = append(r.blocks, runBlock{first, r.end})
		_, err = f.Write(buf)
		r.end += int64(len(buf))
		buf = buf[:0]
	}
	ascend(func(key string, w Write) bool {
		if len(buf) == 0 {
			first = key
		}
		w1, b1, w2, b2 := bloomBits(key, len(r.bloom))
		r.bloom[w1] |= b1
		r.bloom[w2] |= b2
		r.last = key
		buf = binary.AppendUvarint(buf, uint64(len(key)))
		buf = append(buf, key...)
		if w.Val == nil {
			buf = append(buf, 0)
		} else {
			buf = binary.AppendUvarint(buf, uint64(len(w.Val))+1)
		}
		buf = binary.AppendUvarint(buf, uint64(w.Seq))
		buf = append(buf, w.Val...)
		if len(buf) >= runBlockSize {
			flush()
		}
		return err == nil
	})
	flush()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("txn: spilling: %w", err), f.Close())
	}
	return r, nil
}

// read reads block i into buf, which is made larger if need be; nil if that fails.
func (r *run) read(i int, buf []byte) []byte {
	end := r.end
	if i+1 < len(r.blocks) {
		end = r.blocks[i+1].off
	}
	buf = slices.Grow(buf[:0], int(end-r.blocks[i].off))[:end-r.blocks[i].off]
	if _, err := r.f.ReadAt(buf, r.blocks[i].off); err != nil && !errors.Is(err, io.EOF) {
		r.fail(fmt.Errorf("txn: reading spilled changes: %w", err))
		return nil
	}
	return buf
}

// load reads and takes apart block i. Keys and values stay valid.
func (r *run) load(i int) []pair {
	b := r.read(i, nil)
	var out []pair
	for len(b) > 0 {
		p, rest, ok := nextPair(b)
		if !ok {
			r.fail(errDamaged)
			return nil
		}
		b = rest
		out = append(out, p)
	}
	return out
}

var errDamaged = errors.New("txn: spilled changes are damaged")

// nextPair takes apart the first record of b, whose memory it shares.
func nextPair(b []byte) (p pair, rest []byte, ok bool) {
	k, n1 := binary.Uvarint(b)
	if n1 <= 0 || k > uint64(len(b)-n1) {
		return p, nil, false
	}
	p.key = unsafe.String(unsafe.SliceData(b[n1:]), int(k))
	b = b[n1+int(k):]
	v, n2 := binary.Uvarint(b)
	seq, n3 := binary.Uvarint(b[max(n2, 0):])
	if n2 <= 0 || n3 <= 0 || v > uint64(len(b)-n2-n3)+1 {
		return p, nil, false
	}
	b = b[n2+n3:]
	p.w.Seq = uint32(seq)
	if v > 0 {
		p.w.Val = b[: v-1 : v-1]
		b = b[v-1:]
	}
	return p, b, true
}

func (r *run) fail(err error) { r.err.CompareAndSwap(nil, &err) }

// block is the number of the block that may hold key, -1 if key is below all.
func (r *run) block(key string) int {
	return sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].first > key }) - 1
}

// scratch are buffers for blocks in which one key is looked up.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

func (r *run) get(key string) (Write, bool) {
	if key > r.last || key < r.blocks[0].first {
		return Write{}, false
	}
	w1, b1, w2, b2 := bloomBits(key, len(r.bloom))
	if r.bloom[w1]&b1 != b1 || r.bloom[w2]&b2 != b2 {
		return Write{}, false
	}
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := r.read(r.block(key), *buf)
	for *buf = b; len(b) > 0; {
		p, rest, ok := nextPair(b)
		if !ok {
			r.fail(errDamaged)
			break
		}
		if p.key >= key {
			if p.key > key {
				break
			}
			p.w.Val = bytes.Clone(p.w.Val)
			return p.w, true
		}
		b = rest
	}
	return Write{}, false
}

// runCursor walks a run in either direction.
type runCursor struct {
	r     *run
	block int
	ps    []pair
	i     int
	back  bool
}

func (r *run) cursor(lo, hi string, back bool) *runCursor {
	c := &runCursor{r: r, back: back}
	if !back {
		c.block = max(r.block(lo), 0)
		c.ps = r.load(c.block)
		c.i = sort.Search(len(c.ps), func(j int) bool { return c.ps[j].key >= lo })
		c.settle()
		return c
	}
	c.block = len(r.blocks) - 1
	if hi != "" {
		c.block = r.block(hi)
	}
	if c.block < 0 {
		return c
	}
	c.ps = r.load(c.block)
	c.i = len(c.ps) - 1
	if hi != "" {
		c.i = sort.Search(len(c.ps), func(j int) bool { return c.ps[j].key >= hi }) - 1
	}
	c.settle()
	return c
}

// settle goes to the neighbouring block when the current one is used up.
func (c *runCursor) settle() {
	for c.i >= len(c.ps) && !c.back && c.block+1 < len(c.r.blocks) {
		c.block++
		c.ps, c.i = c.r.load(c.block), 0
	}
	for c.i < 0 && c.back && c.block > 0 {
		c.block--
		c.ps = c.r.load(c.block)
		c.i = len(c.ps) - 1
	}
}

func (c *runCursor) valid() bool { return c.i >= 0 && c.i < len(c.ps) }
func (c *runCursor) at() *pair   { return &c.ps[c.i] }

func (c *runCursor) next() {
	if c.back {
		c.i--
	} else {
		c.i++
	}
	c.settle()
}
