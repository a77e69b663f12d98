package sqltypes

import (
	"encoding/binary"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// parse is range_in.
func (info *RangeInfo) parse(env *Env, s string) (Datum, error) {
	bad := func(detail string) (Datum, error) {
		return Null, pgerror.New(pgerror.InvalidTextRepresentation, "malformed range literal: \"%s\"", s).WithDetail("%s", detail)
	}
	t := strings.TrimLeft(s, spaces)
	if len(t) >= 5 && strings.EqualFold(t[:5], "empty") {
		if strings.Trim(t[5:], spaces) != "" {
			return bad("Junk after \"empty\" key word.")
		}
		return packRange(info.Subtype, Range{Empty: true}), nil
	}
	var r Range
	if t == "" || t[0] != '[' && t[0] != '(' {
		return bad("Missing left parenthesis or bracket.")
	}
	r.Lower.Inclusive = t[0] == '['
	lower, inf, rest, ok := rangeBoundText(t[1:])
	if !ok {
		return bad("Unexpected end of input.")
	}
	r.Lower.Inf = inf
	if rest[0] != ',' {
		return bad("Missing comma after lower bound.")
	}
	upper, inf, rest, ok := rangeBoundText(rest[1:])
	if !ok {
		return bad("Unexpected end of input.")
	}
	r.Upper.Inf = inf
	switch rest[0] {
	case ']':
		r.Upper.Inclusive = true
	case ')':
	default:
		return bad("Too many commas.")
	}
	if strings.Trim(rest[1:], spaces) != "" {
		return bad("Junk after right parenthesis or bracket.")
	}
	var err error
	if !r.Lower.Inf {
		if r.Lower.Value, err = info.Subtype.In(env, lower, -1); err != nil {
			return Null, err
		}
	}
	if !r.Upper.Inf {
		if r.Upper.Value, err = info.Subtype.In(env, upper, -1); err != nil {
			return Null, err
		}
	}
	return info.MakeRange(r)
}

// rangeBoundText reads one bound; rest begins with the delimiter that ended it.
func rangeBoundText(s string) (text string, inf bool, rest string, ok bool) {
	if s != "" && (s[0] == ',' || s[0] == ')' || s[0] == ']') {
		return "", true, s, true
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case !quoted && (c == ',' || c == ')' || c == ']'):
			return b.String(), false, s[i:], true
		case c == '\\':
			i++
			if i == len(s) {
				return "", false, "", false
			}
			b.WriteByte(s[i])
		case c == '"':
			if !quoted {
				quoted = true
			} else if i+1 < len(s) && s[i+1] == '"' {
				b.WriteByte('"')
				i++
			} else {
				quoted = false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false, "", false
}

func (info *RangeInfo) append(env *Env, dst []byte, r Range) []byte {
	if r.Empty {
		return append(dst, "empty"...)
	}
	open, shut := byte('('), byte(')')
	if r.Lower.Inclusive && !r.Lower.Inf {
		open = '['
	}
	if r.Upper.Inclusive && !r.Upper.Inf {
		shut = ']'
	}
	dst = append(dst, open)
	if !r.Lower.Inf {
		dst = appendBound(dst, info.Subtype.Out(env, nil, r.Lower.Value))
	}
	dst = append(dst, ',')
	if !r.Upper.Inf {
		dst = appendBound(dst, info.Subtype.Out(env, nil, r.Upper.Value))
	}
	return append(dst, shut)
}

func appendBound(dst, item []byte) []byte {
	quote := len(item) == 0
	for _, c := range item {
		switch c {
		case '"', '\\', '(', ')', '[', ']', ',':
			quote = true
		default:
			quote = quote || isSpace(c)
		}
	}
	if !quote {
		return append(dst, item...)
	}
	dst = append(dst, '"')
	for _, c := range item {
		if c == '"' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

func (info *RangeInfo) send(env *Env, dst []byte, r Range) []byte {
	dst = append(dst, r.flags())
	if r.Empty {
		return dst
	}
	for _, e := range [...]RangeBound{r.Lower, r.Upper} {
		if e.Inf {
			continue
		}
		at := len(dst)
		dst = info.Subtype.Send(env, append(dst, 0, 0, 0, 0), e.Value)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

func (info *RangeInfo) recv(env *Env, b []byte) (Datum, error) {
	w := &wireReader{b: b}
	r := rangeOfFlags(w.u8() & (rangeEmpty | rangeLowerInc | rangeUpperInc | rangeLowerInf | rangeUpperInf))
	if w.short {
		return Null, w.done()
	}
	if !r.Empty {
		for _, e := range [...]*RangeBound{&r.Lower, &r.Upper} {
			if e.Inf {
				continue
			}
			data := w.bytes(int(w.i32()))
			if w.short {
				return Null, w.done()
			}
			var err error
			if e.Value, err = info.Subtype.Recv(env, data, -1); err != nil {
				return Null, err
			}
		}
	}
	if err := w.done(); err != nil {
		return Null, err
	}
	return info.MakeRange(r)
}
