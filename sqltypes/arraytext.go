package sqltypes

import (
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// arrayParser reads array_in's grammar: optional bounds, then nested braces.
type arrayParser struct {
	env    *Env
	elem   *Type
	typmod int32
	s      string
	at     int
	dims   []ArrayDim // of what has been seen; Len -1 while a depth is not closed yet
	known  int        // number of dimensions once a leaf was seen, else 0
	elems  []Datum
}

func malformedArray(s, detail string, args ...any) error {
	e := pgerror.New(pgerror.InvalidTextRepresentation, "malformed array literal: \"%s\"", s)
	if detail != "" {
		e.WithDetail(detail, args...)
	}
	return e
}

func parseArray(env *Env, elem *Type, s string, typmod int32) (Datum, error) {
	p := &arrayParser{env: env, elem: elem, typmod: typmod, s: s}
	given, err := p.bounds()
	if err != nil {
		return Null, err
	}
	if p.at >= len(s) || s[p.at] != '{' {
		if given != nil {
			return Null, malformedArray(s, "Array contents must start with \"{\".")
		}
		return Null, malformedArray(s, "Array value must start with \"{\" or dimension information.")
	}
	if err := p.level(0); err != nil {
		return Null, err
	}
	p.skip()
	if p.at < len(s) {
		return Null, malformedArray(s, "Junk after closing right brace.")
	}
	dims := p.dims
	if given != nil {
		if len(dims) != len(given) {
			return Null, malformedArray(s, "Specified array dimensions do not match array contents.")
		}
		for i := range given {
			if dims[i].Len != given[i].Len {
				return Null, malformedArray(s, "Specified array dimensions do not match array contents.")
			}
		}
		dims = given
	}
	if len(p.elems) == 0 {
		dims = nil
	}
	if err := CheckArraySize(dims); err != nil {
		return Null, err
	}
	return MakeArray(elem, dims, p.elems), nil
}

func (p *arrayParser) skip() {
	for p.at < len(p.s) && isSpace(p.s[p.at]) {
		p.at++
	}
}

// bounds reads "[l:u][n]…=" and returns nil when there is none.
func (p *arrayParser) bounds() ([]ArrayDim, error) {
	var dims []ArrayDim
	for {
		p.skip()
		if p.at >= len(p.s) || p.s[p.at] != '[' {
			break
		}
		p.at++
		if len(dims) >= MaxArrayDims {
			return nil, pgerror.New(pgerror.ProgramLimitExceeded,
				"number of array dimensions (%d) exceeds the maximum allowed (%d)", len(dims)+1, MaxArrayDims)
		}
		lower, upper := 1, 0
		v, ok := p.number()
		if !ok {
			return nil, malformedArray(p.s, "\"[\" must introduce explicitly-specified array dimensions.")
		}
		if p.at < len(p.s) && p.s[p.at] == ':' {
			p.at++
			lower = v
			if upper, ok = p.number(); !ok {
				return nil, malformedArray(p.s, "Missing array dimension value.")
			}
		} else {
			upper = v
		}
		if p.at >= len(p.s) || p.s[p.at] != ']' {
			return nil, malformedArray(p.s, "Missing \"%s\" after array dimensions.", "]")
		}
		p.at++
		if upper < lower {
			return nil, pgerror.New(pgerror.ArraySubscriptError, "upper bound cannot be less than lower bound")
		}
		dims = append(dims, ArrayDim{Len: int32(upper - lower + 1), Lower: int32(lower)})
	}
	if dims == nil {
		return nil, nil
	}
	if p.at >= len(p.s) || p.s[p.at] != '=' {
		return nil, malformedArray(p.s, "Missing \"%s\" after array dimensions.", "=")
	}
	p.at++
	p.skip()
	return dims, nil
}

func (p *arrayParser) number() (int, bool) {
	from := p.at
	if p.at < len(p.s) && (p.s[p.at] == '-' || p.s[p.at] == '+') {
		p.at++
	}
	digits := p.at
	for p.at < len(p.s) && isDigit(p.s[p.at]) {
		p.at++
	}
	if p.at == digits {
		return 0, false
	}
	v, err := strconv.ParseInt(p.s[from:p.at], 10, 32)
	if err != nil {
		return 0, false
	}
	return int(v), true
}

// level reads one brace pair at depth; the opening brace is at p.at.
func (p *arrayParser) level(depth int) error {
	if depth >= MaxArrayDims {
		return pgerror.New(pgerror.ProgramLimitExceeded,
			"number of array dimensions (%d) exceeds the maximum allowed (%d)", depth+1, MaxArrayDims)
	}
	p.at++
	if depth == len(p.dims) {
		if p.known > 0 {
			return malformedArray(p.s, "Multidimensional arrays must have sub-arrays with matching dimensions.")
		}
		p.dims = append(p.dims, ArrayDim{Len: -1, Lower: 1})
	}
	count := int32(0)
	expectItem := false
	for {
		p.skip()
		if p.at >= len(p.s) {
			return malformedArray(p.s, "Unexpected end of input.")
		}
		c := p.s[p.at]
		switch {
		case c == '}':
			if expectItem || depth > 0 && count == 0 { // only the outermost braces may be empty
				return malformedArray(p.s, "Unexpected \"%c\" character.", '}')
			}
			p.at++
			if p.dims[depth].Len == -1 {
				p.dims[depth].Len = count
			} else if p.dims[depth].Len != count {
				return malformedArray(p.s, "Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
			if p.known == 0 {
				p.known = len(p.dims)
			}
			return nil
		case c == '{':
			if p.known > 0 && depth+1 >= p.known {
				return malformedArray(p.s, "Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
			if err := p.level(depth + 1); err != nil {
				return err
			}
		case c == p.elem.Delim:
			return malformedArray(p.s, "Unexpected \"%c\" character.", c)
		default:
			if depth+1 < len(p.dims) {
				return malformedArray(p.s, "Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
			p.known = len(p.dims)
			if err := p.item(); err != nil {
				return err
			}
		}
		count++
		p.skip()
		if p.at >= len(p.s) {
			return malformedArray(p.s, "Unexpected end of input.")
		}
		switch c := p.s[p.at]; c {
		case p.elem.Delim:
			p.at++
			expectItem = true
		case '}':
			expectItem = false
		case '{':
			return malformedArray(p.s, "Unexpected \"%c\" character.", c)
		case '"':
			return malformedArray(p.s, "Incorrectly quoted array element.")
		default:
			return malformedArray(p.s, "Unexpected array element.")
		}
	}
}

// item reads one element, quoted or not.
func (p *arrayParser) item() error {
	var b strings.Builder
	if p.s[p.at] == '"' {
		p.at++
		for {
			if p.at >= len(p.s) {
				return malformedArray(p.s, "Unexpected end of input.")
			}
			c := p.s[p.at]
			p.at++
			if c == '"' {
				break
			}
			if c == '\\' {
				if p.at >= len(p.s) {
					return malformedArray(p.s, "Unexpected end of input.")
				}
				c = p.s[p.at]
				p.at++
			}
			b.WriteByte(c)
		}
	} else {
		keep := 0 // length without trailing spaces
		escaped := false
		for {
			if p.at >= len(p.s) {
				return malformedArray(p.s, "Unexpected end of input.")
			}
			c := p.s[p.at]
			if c == p.elem.Delim || c == '}' {
				break
			}
			switch c {
			case '{':
				return malformedArray(p.s, "Unexpected \"%c\" character.", c)
			case '"':
				return malformedArray(p.s, "Incorrectly quoted array element.")
			case '\\':
				p.at++
				if p.at >= len(p.s) {
					return malformedArray(p.s, "Unexpected end of input.")
				}
				escaped = true
				b.WriteByte(p.s[p.at])
				keep = b.Len()
			default:
				b.WriteByte(c)
				if !isSpace(c) {
					keep = b.Len()
				}
			}
			p.at++
		}
		text := b.String()[:keep]
		if !escaped && strings.EqualFold(text, "null") {
			p.elems = append(p.elems, Null)
			return p.elem.InNull(p.env)
		}
		b.Reset()
		b.WriteString(text)
	}
	d, err := p.elem.In(p.env, b.String(), p.typmod)
	if err != nil {
		return err
	}
	p.elems = append(p.elems, d)
	return nil
}

// appendArray is array_out.
func appendArray(env *Env, dst []byte, elem *Type, d Datum) []byte {
	a := OpenArray(d)
	if a.ndim == 0 {
		return append(dst, "{}"...)
	}
	bounds := false
	for i := 0; i < a.ndim; i++ {
		bounds = bounds || a.Dim(i).Lower != 1
	}
	if bounds {
		for i := 0; i < a.ndim; i++ {
			dim := a.Dim(i)
			dst = append(dst, '[')
			dst = strconv.AppendInt(dst, int64(dim.Lower), 10)
			dst = append(dst, ':')
			dst = strconv.AppendInt(dst, int64(dim.Lower)+int64(dim.Len)-1, 10)
			dst = append(dst, ']')
		}
		dst = append(dst, '=')
	}
	var scratch []byte
	var walk func(depth, from, n int)
	walk = func(depth, from, n int) {
		dst = append(dst, '{')
		k := int(a.Dim(depth).Len)
		for i := 0; i < k; i++ {
			if i > 0 {
				dst = append(dst, elem.Delim)
			}
			if depth+1 < a.ndim {
				walk(depth+1, from+i*(n/k), n/k)
				continue
			}
			if a.IsNull(from + i) {
				dst = append(dst, "NULL"...)
				continue
			}
			scratch = elem.Out(env, scratch[:0], a.At(from+i))
			dst = appendArrayItem(dst, scratch, elem.Delim)
		}
		dst = append(dst, '}')
	}
	walk(0, 0, a.n)
	return dst
}

func appendArrayItem(dst, item []byte, delim byte) []byte {
	quote := len(item) == 0 || len(item) == 4 && strings.EqualFold(string(item), "null")
	for i := 0; i < len(item) && !quote; i++ {
		c := item[i]
		quote = c == '"' || c == '\\' || c == '{' || c == '}' || c == delim || isSpace(c)
	}
	if !quote {
		return append(dst, item...)
	}
	dst = append(dst, '"')
	for _, c := range item {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
