package session

import (
	"encoding/binary"
	"io"
	"os"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// spoolChunk is the number of rows encoded together.
const spoolChunk = 256

// spool keeps the rows of a cursor: in memory up to a limit, then in an unlinked
// temporary file. Rows are appended, then read by number in any order.
type spool struct {
	cols    int
	memory  int // bytes allowed in memory
	maxRows int64
	dir     string
	rows    int64
	cur     []byte  // the chunk being filled
	curRows int     // rows in cur
	chunks  []chunk // complete chunks
	inMem   int
	file    *os.File
	fileEnd int64
	cached  int // number of the decoded chunk, -1 none
	decoded []sqltypes.Datum
}

type chunk struct {
	mem    []byte // nil: in the file
	offset int64
	length int
}

func newSpool(cols, memory int, maxRows int64, dir string) *spool {
	return &spool{cols: cols, memory: memory, maxRows: maxRows, dir: dir, cached: -1}
}

// appendBatch adds row i of b.
func (sp *spool) appendBatch(b *expr.Batch, i int) error {
	for c := 0; c < sp.cols; c++ {
		sp.cur = appendDatum(sp.cur, b.Cols[c].Datum(i))
	}
	return sp.rowDone()
}

func (sp *spool) rowDone() error {
	if sp.rows++; sp.rows > sp.maxRows {
		return pgerror.New(pgerror.ConfigurationLimitExceeded, "cursor keeps more than %d rows", sp.maxRows).
			WithHint("Increase the configuration parameter \"ostraka.max_rows_buffered\".")
	}
	if sp.curRows++; sp.curRows < spoolChunk {
		return nil
	}
	c := chunk{length: len(sp.cur)}
	if sp.inMem+c.length <= sp.memory {
		c.mem = append([]byte(nil), sp.cur...)
		sp.inMem += c.length
	} else {
		if sp.file == nil {
			f, err := os.CreateTemp(sp.dir, "ostraka-cursor-")
			if err != nil {
				return pgerror.Wrap(err, pgerror.IoError, "could not create temporary file: %s", err.Error())
			}
			_ = os.Remove(f.Name())
			sp.file = f
		}
		if _, err := sp.file.WriteAt(sp.cur, sp.fileEnd); err != nil {
			return pgerror.Wrap(err, pgerror.DiskFull, "could not write to temporary file: %s", err.Error())
		}
		c.offset = sp.fileEnd
		sp.fileEnd += int64(c.length)
	}
	sp.chunks = append(sp.chunks, c)
	sp.cur, sp.curRows = sp.cur[:0], 0
	return nil
}

// row returns row n (0-based, below sp.rows); it is valid until the next call.
func (sp *spool) row(n int64) ([]sqltypes.Datum, error) {
	k := int(n / spoolChunk)
	if k != sp.cached {
		var data []byte
		rows := spoolChunk
		switch {
		case k == len(sp.chunks):
			data, rows = sp.cur, sp.curRows
		case sp.chunks[k].mem != nil:
			data = sp.chunks[k].mem
		default:
			data = make([]byte, sp.chunks[k].length)
			if _, err := sp.file.ReadAt(data, sp.chunks[k].offset); err != nil && err != io.EOF {
				return nil, pgerror.Wrap(err, pgerror.IoError, "could not read from temporary file: %s", err.Error())
			}
		}
		sp.decoded = sp.decoded[:0]
		for i := 0; i < rows*sp.cols; i++ {
			var d sqltypes.Datum
			d, data = readDatum(data)
			sp.decoded = append(sp.decoded, d)
		}
		sp.cached = k
		if k == len(sp.chunks) {
			sp.cached = -1 // it may still grow
		}
	}
	at := int(n%spoolChunk) * sp.cols
	return sp.decoded[at : at+sp.cols], nil
}

func (sp *spool) close() {
	if sp.file != nil {
		_ = sp.file.Close()
		sp.file = nil
	}
}

// appendDatum writes a flag byte (1 null, 2 has S, 4 has Aux), I, Aux and S.
func appendDatum(b []byte, d sqltypes.Datum) []byte {
	if d.Null {
		return append(b, 1)
	}
	flag := byte(0)
	if d.S != "" {
		flag |= 2
	}
	if d.Aux != 0 {
		flag |= 4
	}
	b = binary.AppendVarint(append(b, flag), d.I)
	if flag&4 != 0 {
		b = binary.AppendVarint(b, int64(d.Aux))
	}
	if flag&2 != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(d.S))), d.S...)
	}
	return b
}

func readDatum(b []byte) (sqltypes.Datum, []byte) {
	flag := b[0]
	b = b[1:]
	if flag&1 != 0 {
		return sqltypes.Null, b
	}
	var d sqltypes.Datum
	v, n := binary.Varint(b)
	d.I, b = v, b[n:]
	if flag&4 != 0 {
		v, n = binary.Varint(b)
		d.Aux, b = int32(v), b[n:]
	}
	if flag&2 != 0 {
		u, n := binary.Uvarint(b)
		b = b[n:]
		d.S, b = string(b[:u]), b[u:]
	}
	return d, b
}
