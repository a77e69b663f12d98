package shardrouter

import (
	"encoding/binary"
	"errors"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// requestFormat is the first byte of an encoded request; answerFormat kinds begin
// the rows of an answer. docs/formats/sharding.md describes both.
const requestFormat = 1

const (
	answerDoc  = 'd' // a document of the stream
	answerTail = 't' // the last row: value, counts, ids
)

var errMalformed = errors.New("shardrouter: malformed message")

// maxDocs bounds the documents of one request.
const maxDocs = 1 << 24

type encoder struct{ b []byte }

func (e *encoder) num(n uint64)         { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) int(n int64)          { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) str(s string)         { e.num(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) json(j docstore.JSON) { e.str(j.Datum().S) }
func (e *encoder) flag(v bool) {
	if v {
		e.num(1)
	} else {
		e.num(0)
	}
}
func (e *encoder) list(docs []docstore.JSON) {
	e.num(uint64(len(docs)))
	for _, d := range docs {
		e.json(d)
	}
}

type decoder struct {
	b   string
	err error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err, d.b = errMalformed, ""
	}
}

func (d *decoder) num() uint64 {
	n, w := uint64(0), 0
	for shift := 0; ; shift += 7 {
		if w >= len(d.b) || shift > 63 {
			d.fail()
			return 0
		}
		c := d.b[w]
		w++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	d.b = d.b[w:]
	return n
}

func (d *decoder) int() int64 {
	n := d.num()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) str() string {
	n := d.num()
	if n > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) flag() bool          { return d.num() == 1 }
func (d *decoder) json() docstore.JSON { return sqltypes.JSONOf(sqltypes.Text(d.str())) }

func (d *decoder) list() []docstore.JSON {
	n := d.num()
	if n > maxDocs || n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	out := make([]docstore.JSON, 0, n)
	for range n {
		out = append(out, d.json())
	}
	return out
}

// Encode returns the request as bytes. Command.Accept is not part of it.
func (r *Request) Encode() []byte {
	e := &encoder{b: []byte{requestFormat, byte(r.Kind)}}
	e.num(r.Version)
	e.str(string(r.Chunks))
	e.num(uint64(r.Count))
	e.str(r.Key)
	e.int(r.Now.UnixNano())
	e.flag(r.Cmd != nil)
	if r.Cmd != nil {
		e.command(r.Cmd)
	}
	return e.b
}

func (e *encoder) command(c *docstore.Command) {
	e.num(uint64(c.Op))
	e.str(c.Collection)
	e.json(c.Filter)
	e.json(c.Update)
	e.list(c.Docs)
	e.json(c.Pipeline)
	e.json(c.Sort)
	e.int(c.Skip)
	e.int(c.Take)
	e.json(c.Projection)
	e.str(c.Field)
	e.flag(c.Upsert)
	e.flag(c.ReturnNew)
	e.str(c.Name)
	e.json(c.Options)
	e.str(c.Search)
	e.json(c.Vector)
	e.str(c.Metric)
	e.int(int64(c.Wait))
	e.num(uint64(c.LockWait))
	e.json(c.ArrayFilters)
	e.flag(c.Index != nil)
	if x := c.Index; x != nil {
		e.str(x.Name)
		e.num(uint64(len(x.Fields)))
		for _, f := range x.Fields {
			e.str(f.Path)
			e.flag(f.Desc)
		}
		e.flag(x.Unique)
		e.flag(x.Sparse)
		e.json(x.Partial)
		e.int(x.ExpireAfter)
		e.flag(x.Text)
	}
}

// DecodeRequest is the inverse of Encode. Documents share the string's memory;
// what comes from outside the cluster is checked with checkForeign.
func DecodeRequest(s string) (*Request, error) {
	if len(s) < 2 || s[0] != requestFormat {
		return nil, errMalformed
	}
	r := &Request{Kind: Kind(s[1])}
	d := &decoder{b: s[2:]}
	r.Version = d.num()
	if c := d.str(); c != "" {
		r.Chunks = catalog.ChunkSet(c)
	}
	r.Count = int(d.num())
	r.Key = d.str()
	r.Now = time.Unix(0, d.int())
	if d.flag() {
		r.Cmd = d.command()
	}
	if d.err == nil && (d.b != "" || r.Kind == 0 || r.Kind > KindPlain || r.Count < 0 || r.Count > 1<<16) {
		d.fail()
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

func (d *decoder) command() *docstore.Command {
	c := &docstore.Command{Op: docstore.Op(d.num()), Collection: d.str()}
	c.Filter, c.Update = d.json(), d.json()
	c.Docs = d.list()
	c.Pipeline, c.Sort = d.json(), d.json()
	c.Skip, c.Take = d.int(), d.int()
	c.Projection = d.json()
	c.Field = d.str()
	c.Upsert, c.ReturnNew = d.flag(), d.flag()
	c.Name = d.str()
	c.Options = d.json()
	c.Search = d.str()
	c.Vector = d.json()
	c.Metric = d.str()
	c.Wait = time.Duration(d.int())
	c.LockWait = engine.WaitPolicy(d.num())
	c.ArrayFilters = d.json()
	if d.flag() {
		x := &docstore.IndexSpec{Name: d.str()}
		n := d.num()
		if n > 1000 {
			d.fail()
			return c
		}
		for range n {
			x.Fields = append(x.Fields, docstore.IndexField{Path: d.str(), Desc: d.flag()})
		}
		x.Unique, x.Sparse = d.flag(), d.flag()
		x.Partial = d.json()
		x.ExpireAfter = d.int()
		x.Text = d.flag()
		c.Index = x
	}
	return c
}

// encodeTail is the last row of an answer: everything but the stream.
func encodeTail(r *docstore.Result) []byte {
	e := &encoder{b: []byte{answerTail}}
	e.json(r.Value)
	for _, n := range []int64{r.Inserted, r.Matched, r.Modified, r.Upserted, r.Deleted} {
		e.int(n)
	}
	e.list(r.IDs)
	return e.b
}

func decodeTail(s string) (docstore.Result, error) {
	d := &decoder{b: s[1:]}
	var r docstore.Result
	r.Value = d.json()
	for _, n := range []*int64{&r.Inserted, &r.Matched, &r.Modified, &r.Upserted, &r.Deleted} {
		*n = d.int()
	}
	r.IDs = d.list()
	if d.err == nil && d.b != "" {
		d.fail()
	}
	return r, d.err
}
