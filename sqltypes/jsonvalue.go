package sqltypes

import (
	"encoding/binary"
	"slices"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// JSON is a view of a jsonb value, or of one inside another: a tag byte and a
// body whose length the holder knows. Members are found without decoding what
// lies around them. The layout is docs/formats/jsonb.md.
type JSON struct{ s string }

// JSONKind is what a JSON value is, in jsonb's order of kinds.
type JSONKind uint8

const (
	JSONNull JSONKind = iota
	JSONString
	JSONNumber
	JSONBool
	JSONArray
	JSONObject
)

func (k JSONKind) String() string {
	return [...]string{"null", "string", "number", "boolean", "array", "object"}[k]
}

// Tags. Containers come in two widths of counts and offsets.
const (
	tagNull     = 0x00
	tagFalse    = 0x01
	tagTrue     = 0x02
	tagInt      = 0x03 // zig-zag varint
	tagDecimal  = 0x04 // uvarint scale, zig-zag varint
	tagWide     = 0x05 // numeric's wide form
	tagString   = 0x06
	tagArray    = 0x07 // u16
	tagObject   = 0x08
	tagArray32  = 0x09 // u32
	tagObject32 = 0x0A
)

// JSONOf views a jsonb Datum; JSON.Datum is the way back.
func JSONOf(d Datum) JSON { return JSON{d.S} }

// Datum is the value as a jsonb Datum.
func (j JSON) Datum() Datum { return Datum{S: j.s} }

// IsZero reports the zero JSON, which is no value at all (not even null).
func (j JSON) IsZero() bool { return j.s == "" }

// Kind of the value.
func (j JSON) Kind() JSONKind {
	if j.s == "" {
		return JSONNull
	}
	switch j.s[0] {
	case tagFalse, tagTrue:
		return JSONBool
	case tagInt, tagDecimal, tagWide:
		return JSONNumber
	case tagString:
		return JSONString
	case tagArray, tagArray32:
		return JSONArray
	case tagObject, tagObject32:
		return JSONObject
	}
	return JSONNull
}

// IsContainer reports an array or object.
func (j JSON) IsContainer() bool { return j.Kind() >= JSONArray }

// Bool, Str and Number read scalars of that kind.
func (j JSON) Bool() bool  { return j.s != "" && j.s[0] == tagTrue }
func (j JSON) Str() string { return j.s[1:] }

func (j JSON) Number() Datum {
	switch j.s[0] {
	case tagInt:
		v, _ := varintS(j.s[1:])
		return Datum{I: v}
	case tagDecimal:
		scale, n := uvarintS(j.s[1:])
		v, _ := varintS(j.s[1+n:])
		return Datum{I: v, Aux: int32(scale)}
	}
	return Datum{S: j.s[1:]}
}

// wide32 reports a container with 32-bit offsets.
func (j JSON) width() int {
	if j.s[0] >= tagArray32 {
		return 4
	}
	return 2
}

func (j JSON) word(w, at int) int {
	if w == 2 {
		return int(be16(j.s[at:]))
	}
	return int(be32(j.s[at:]))
}

// Len is the number of elements or pairs of a container, 0 of a scalar.
func (j JSON) Len() int {
	if !j.IsContainer() {
		return 0
	}
	return j.word(j.width(), 1)
}

// Index is element i of an array, 0 ≤ i < Len.
func (j JSON) Index(i int) JSON {
	w := j.width()
	n := j.word(w, 1)
	ends, data := 1+w, 1+w+n*w
	from := 0
	if i > 0 {
		from = j.word(w, ends+w*(i-1))
	}
	return JSON{j.s[data+from : data+j.word(w, ends+w*i)]}
}

// Key and Value are pair i of an object, in key order (length, then bytes).
func (j JSON) Key(i int) string {
	w := j.width()
	n := j.word(w, 1)
	data := 1 + w + 2*n*w
	from := 0
	if i > 0 {
		from = j.word(w, 1+w+w*(i-1))
	}
	return j.s[data+from : data+j.word(w, 1+w+w*i)]
}

func (j JSON) Value(i int) JSON {
	w := j.width()
	n := j.word(w, 1)
	ends := 1 + w + n*w
	data := 1 + w + 2*n*w + j.word(w, ends-w) // after the keys
	from := 0
	if i > 0 {
		from = j.word(w, ends+w*(i-1))
	}
	return JSON{j.s[data+from : data+j.word(w, ends+w*i)]}
}

// Lookup finds a member of an object by key, in O(log n).
func (j JSON) Lookup(key string) (JSON, bool) {
	if len(j.s) > 2 && j.s[0] == tagObject {
		return j.lookup16(key)
	}
	i := j.find(key)
	if i < 0 {
		return JSON{}, false
	}
	return j.Value(i), true
}

// lookup16 is Lookup in an object with 16-bit offsets: the common case.
func (j JSON) lookup16(key string) (JSON, bool) {
	n := int(be16(j.s[1:]))
	at := j.search16(n, key)
	if at < 0 {
		return JSON{}, false
	}
	return j.pair16(n, at), true
}

// pair16 is the value of pair at, of n.
func (j JSON) pair16(n, at int) JSON {
	ends := j.s[3:]     // of the keys, then of the values
	data := j.s[3+4*n:] // the keys, then the values
	keys := int(be16(ends[2*n-2:]))
	from := 0
	if at > 0 {
		from = int(be16(ends[2*(n+at)-2:]))
	}
	return JSON{data[keys+from : keys+int(be16(ends[2*(n+at):]))]}
}

// search16 finds a key without reading the header again at every step; -1 when it is not there.
func (j JSON) search16(n int, key string) int {
	ends, data := j.s[3:], j.s[3+4*n:]
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		from := 0
		if mid > 0 {
			from = int(be16(ends[2*mid-2:]))
		}
		k := data[from:be16(ends[2*mid:])]
		switch {
		case len(k) != len(key):
			if len(k) < len(key) {
				lo = mid + 1
			} else {
				hi = mid
			}
		case k == key:
			return mid
		case k < key:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return -1
}

// LookupNear is Lookup for callers that look for one key in many objects of much the
// same shape: near is the place where it was found last, at the place where it is now.
func (j JSON) LookupNear(key string, near int) (v JSON, at int, ok bool) {
	s := j.s
	if len(s) <= 2 || s[0] != tagObject {
		v, ok = j.Lookup(key)
		return v, near, ok
	}
	n := int(be16(s[1:]))
	ends := s[3:]
	if uint(near) < uint(n) {
		data := s[3+4*n:]
		from := 0
		if near > 0 {
			from = int(be16(ends[2*near-2:]))
		}
		if data[from:be16(ends[2*near:])] == key {
			return j.pair16(n, near), near, true
		}
	}
	if at = j.search16(n, key); at < 0 {
		return JSON{}, near, false
	}
	return j.pair16(n, at), at, true
}

func (j JSON) find(key string) int {
	if j.Kind() != JSONObject {
		return -1
	}
	lo, hi := 0, j.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		switch c := compareKeys(j.Key(mid), key); {
		case c == 0:
			return mid
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return -1
}

// compareKeys is the order of keys in an object.
func compareKeys(a, b string) int {
	if len(a) != len(b) {
		return cmpInt(len(a), len(b))
	}
	return strings.Compare(a, b)
}

// JSONPair is a member of an object being built.
type JSONPair struct {
	Key   string
	Value JSON
}

// Constructors of scalars.
var (
	JSONNullValue = JSON{string([]byte{tagNull})}
	jsonTrue      = JSON{string([]byte{tagTrue})}
	jsonFalse     = JSON{string([]byte{tagFalse})}
)

func JSONBoolOf(v bool) JSON {
	if v {
		return jsonTrue
	}
	return jsonFalse
}

func JSONStringOf(s string) JSON { return JSON{string([]byte{tagString}) + s} }

// JSONNumberOf is a numeric as JSON; NaN and infinities become strings, as to_jsonb has them.
func JSONNumberOf(d Datum) JSON {
	if !NumericIsFinite(d) {
		return JSONStringOf(NumericString(d))
	}
	return JSON{string(appendJSONNumber(nil, d))}
}

func appendJSONNumber(dst []byte, d Datum) []byte {
	switch {
	case d.S != "":
		return append(append(dst, tagWide), d.S...)
	case d.Aux == 0:
		return binary.AppendVarint(append(dst, tagInt), d.I)
	}
	dst = binary.AppendUvarint(append(dst, tagDecimal), uint64(d.Aux))
	return binary.AppendVarint(dst, d.I)
}

// JSONArrayOf builds an array.
func JSONArrayOf(elems []JSON) JSON {
	size := 0
	for _, e := range elems {
		size += len(e.s)
	}
	tag, w := byte(tagArray), 2
	if size > 0xFFFF || len(elems) > 0xFFFF {
		tag, w = tagArray32, 4
	}
	b := make([]byte, 0, 1+w*(len(elems)+1)+size)
	b = appendWord(append(b, tag), w, len(elems))
	end := 0
	for _, e := range elems {
		end += len(e.s)
		b = appendWord(b, w, end)
	}
	for _, e := range elems {
		b = append(b, e.s...)
	}
	return JSON{string(b)}
}

func appendWord(dst []byte, w, v int) []byte {
	if w == 2 {
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	}
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

// JSONObjectOf builds an object; of pairs with equal keys the last is kept. The
// slice is sorted in place.
func JSONObjectOf(pairs []JSONPair) JSON {
	slices.SortStableFunc(pairs, func(a, b JSONPair) int { return compareKeys(a.Key, b.Key) })
	kept := pairs[:0]
	for i, p := range pairs {
		if i+1 < len(pairs) && pairs[i+1].Key == p.Key {
			continue
		}
		kept = append(kept, p)
	}
	keys, vals := 0, 0
	for _, p := range kept {
		keys += len(p.Key)
		vals += len(p.Value.s)
	}
	tag, w := byte(tagObject), 2
	if keys > 0xFFFF || vals > 0xFFFF || len(kept) > 0xFFFF {
		tag, w = tagObject32, 4
	}
	b := make([]byte, 0, 1+w*(2*len(kept)+1)+keys+vals)
	b = appendWord(append(b, tag), w, len(kept))
	end := 0
	for _, p := range kept {
		end += len(p.Key)
		b = appendWord(b, w, end)
	}
	end = 0
	for _, p := range kept {
		end += len(p.Value.s)
		b = appendWord(b, w, end)
	}
	for _, p := range kept {
		b = append(b, p.Key...)
	}
	for _, p := range kept {
		b = append(b, p.Value.s...)
	}
	return JSON{string(b)}
}

// Elems lists the elements of an array, Pairs the members of an object; nil for anything else.
func (j JSON) Elems() []JSON {
	if j.Kind() != JSONArray {
		return nil
	}
	out := make([]JSON, j.Len())
	for i := range out {
		out[i] = j.Index(i)
	}
	return out
}

func (j JSON) Pairs() []JSONPair {
	if j.Kind() != JSONObject {
		return nil
	}
	out := make([]JSONPair, j.Len())
	for i := range out {
		out[i] = JSONPair{j.Key(i), j.Value(i)}
	}
	return out
}

// AppendText writes the value as PostgreSQL prints jsonb.
func (j JSON) AppendText(dst []byte) []byte {
	switch j.Kind() {
	case JSONNull:
		return append(dst, "null"...)
	case JSONBool:
		if j.Bool() {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case JSONNumber:
		return AppendNumeric(dst, j.Number())
	case JSONString:
		return AppendJSONString(dst, j.Str())
	case JSONArray:
		dst = append(dst, '[')
		for i, n := 0, j.Len(); i < n; i++ {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = j.Index(i).AppendText(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, n := 0, j.Len(); i < n; i++ {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(AppendJSONString(dst, j.Key(i)), ": "...)
		dst = j.Value(i).AppendText(dst)
	}
	return append(dst, '}')
}

func (j JSON) String() string { return string(j.AppendText(nil)) }

// AsText is the value as ->> gives it: a string unquoted, null as SQL NULL.
func (j JSON) AsText() Datum {
	switch j.Kind() {
	case JSONNull:
		return Null
	case JSONString:
		return Text(j.Str())
	}
	return Text(j.String())
}

// AppendPretty writes the value as jsonb_pretty does.
func (j JSON) AppendPretty(dst []byte, depth int) []byte {
	indent := func(n int) {
		dst = append(dst, '\n')
		for range n {
			dst = append(dst, "    "...)
		}
	}
	switch j.Kind() {
	case JSONArray, JSONObject:
		object := j.Kind() == JSONObject
		open, shut := byte('['), byte(']')
		if object {
			open, shut = '{', '}'
		}
		dst = append(dst, open)
		for i, n := 0, j.Len(); i < n; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			indent(depth + 1)
			if object {
				dst = append(AppendJSONString(dst, j.Key(i)), ": "...)
				dst = j.Value(i).AppendPretty(dst, depth+1)
			} else {
				dst = j.Index(i).AppendPretty(dst, depth+1)
			}
		}
		indent(depth)
		return append(dst, shut)
	}
	return j.AppendText(dst)
}

// AppendJSONString writes a quoted string with PostgreSQL's escapes.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

func jsonbCodec() codec {
	return codec{
		kind: KBytes,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			j, err := ParseJSONB(s)
			return j.Datum(), err
		},
		out: func(_ *Env, dst []byte, d Datum) []byte { return JSONOf(d).AppendText(dst) },
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			// A version byte, then text.
			if len(b) == 0 {
				return Null, badBinary(0, 1)
			}
			if b[0] != 1 {
				return Null, pgerror.New(pgerror.InternalError, "unsupported jsonb version number %d", b[0])
			}
			s := string(b[1:])
			if err := ValidText(s); err != nil {
				return Null, err
			}
			j, err := ParseJSONB(s)
			return j.Datum(), err
		},
		send:    func(_ *Env, dst []byte, d Datum) []byte { return JSONOf(d).AppendText(append(dst, 1)) },
		compare: func(a, b Datum) int { return CompareJSON(JSONOf(a), JSONOf(b)) },
		hash:    func(d Datum) uint64 { return HashJSON(JSONOf(d)) },
	}
}

func jsonCodec() codec {
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return Text(s), ValidateJSON(s) },
		out:  appendS,
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			s := string(b)
			if err := ValidText(s); err != nil {
				return Null, err
			}
			return Text(s), ValidateJSON(s)
		},
		send: appendS,
	}
}
