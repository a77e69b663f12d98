package sqltypes

import (
	"encoding/binary"
	"slices"
)

// ParseJSONB reads JSON text into jsonb. Errors: 22P02, 22P05, 22003, 54001.
func ParseJSONB(s string) (JSON, error) {
	p := jsonbParser{jsonLexer: newJSONLexer(s, true)}
	if err := p.next(); err != nil {
		return JSON{}, err
	}
	p.buf = make([]byte, 0, len(s)+16)
	if err := p.value(0); err != nil {
		return JSON{}, err
	}
	if p.tok != jsonEnd {
		return JSON{}, p.unexpected("end of input")
	}
	return JSON{string(p.buf)}, nil
}

// jsonbParser writes values to buf as they are read; when a container ends, its
// header is put in front of its members.
type jsonbParser struct {
	*jsonLexer
	buf     []byte
	ends    []int        // ends of the elements of the open arrays
	members []jsonMember // members of the open objects
	scratch []byte
}

type jsonMember struct {
	key      string
	from, to int // of the value in buf
}

// value reads one value; the current token is its first, afterwards the one behind it.
func (p *jsonbParser) value(depth int) error {
	if depth > maxJSONDepth {
		return jsonDepthError()
	}
	switch p.tok {
	case jsonStringTok:
		p.buf = append(append(p.buf, tagString), p.str...)
	case jsonNumberTok:
		d, err := ParseNumeric(p.token())
		if err != nil {
			return err
		}
		p.buf = appendJSONNumber(p.buf, d)
	case jsonTrueTok:
		p.buf = append(p.buf, tagTrue)
	case jsonFalseTok:
		p.buf = append(p.buf, tagFalse)
	case jsonNullTok:
		p.buf = append(p.buf, tagNull)
	case jsonPunct:
		switch p.punct {
		case '[':
			return p.array(depth)
		case '{':
			return p.object(depth)
		}
		return p.unexpected("JSON value")
	default:
		return p.unexpected("JSON value")
	}
	return p.next()
}

func (p *jsonbParser) array(depth int) error {
	start, base := len(p.buf), len(p.ends)
	if err := p.next(); err != nil {
		return err
	}
	if !p.is(']') {
		for {
			if err := p.value(depth + 1); err != nil {
				return err
			}
			p.ends = append(p.ends, len(p.buf)-start)
			if !p.is(',') {
				break
			}
			if err := p.next(); err != nil {
				return err
			}
		}
	}
	if !p.is(']') {
		return p.unexpected(`"," or "]"`)
	}
	ends := p.ends[base:]
	size := len(p.buf) - start
	tag, w := byte(tagArray), 2
	if size > 0xFFFF || len(ends) > 0xFFFF {
		tag, w = tagArray32, 4
	}
	head := 1 + w*(len(ends)+1)
	p.buf = slices.Grow(p.buf, head)[:len(p.buf)+head]
	copy(p.buf[start+head:], p.buf[start:start+size])
	p.buf[start] = tag
	putWord(p.buf[start+1:], w, len(ends))
	for i, e := range ends {
		putWord(p.buf[start+1+w*(i+1):], w, e)
	}
	p.ends = p.ends[:base]
	return p.next()
}

func putWord(b []byte, w, v int) {
	if w == 2 {
		binary.BigEndian.PutUint16(b, uint16(v))
	} else {
		binary.BigEndian.PutUint32(b, uint32(v))
	}
}

func (p *jsonbParser) object(depth int) error {
	start, base := len(p.buf), len(p.members)
	if err := p.next(); err != nil {
		return err
	}
	if !p.is('}') {
		for first := true; ; first = false {
			if p.tok != jsonStringTok {
				if first {
					return p.unexpected(`string or "}"`)
				}
				return p.unexpected("string")
			}
			key := p.str
			if err := p.next(); err != nil {
				return err
			}
			if !p.is(':') {
				return p.unexpected(`":"`)
			}
			if err := p.next(); err != nil {
				return err
			}
			from := len(p.buf)
			if err := p.value(depth + 1); err != nil {
				return err
			}
			p.members = append(p.members, jsonMember{key, from, len(p.buf)})
			if !p.is(',') {
				break
			}
			if err := p.next(); err != nil {
				return err
			}
		}
	}
	if !p.is('}') {
		return p.unexpected(`"," or "}"`)
	}
	p.closeObject(start, p.members[base:])
	p.members = p.members[:base]
	return p.next()
}

// closeObject sorts the members, keeps the last of equal keys and writes the object at start.
func (p *jsonbParser) closeObject(start int, m []jsonMember) {
	slices.SortStableFunc(m, func(a, b jsonMember) int { return compareKeys(a.key, b.key) })
	kept := m[:0]
	keys, vals := 0, 0
	for i, x := range m {
		if i+1 < len(m) && m[i+1].key == x.key {
			continue
		}
		kept = append(kept, x)
		keys += len(x.key)
		vals += x.to - x.from
	}
	tag, w := byte(tagObject), 2
	if keys > 0xFFFF || vals > 0xFFFF || len(kept) > 0xFFFF {
		tag, w = tagObject32, 4
	}
	b := append(p.scratch[:0], tag)
	b = appendWord(b, w, len(kept))
	end := 0
	for _, x := range kept {
		end += len(x.key)
		b = appendWord(b, w, end)
	}
	end = 0
	for _, x := range kept {
		end += x.to - x.from
		b = appendWord(b, w, end)
	}
	for _, x := range kept {
		b = append(b, x.key...)
	}
	for _, x := range kept {
		b = append(b, p.buf[x.from:x.to]...)
	}
	p.buf = append(p.buf[:start], b...)
	p.scratch = b
}

// ValidateJSON checks that s is one JSON value, with PostgreSQL's errors.
func ValidateJSON(s string) error {
	l := newJSONLexer(s, false)
	if err := l.next(); err != nil {
		return err
	}
	if err := l.skipValue(0, nil); err != nil {
		return err
	}
	if l.tok != jsonEnd {
		return l.unexpected("end of input")
	}
	return nil
}

// skipValue reads past one value. visit, when not nil, is called for each direct
// member with its key (objects only) and the text of its value.
func (l *jsonLexer) skipValue(depth int, visit func(key string, raw string)) error {
	if depth > maxJSONDepth {
		return jsonDepthError()
	}
	if l.tok != jsonPunct {
		if l.tok == jsonEnd {
			return l.unexpected("JSON value")
		}
		return l.next()
	}
	open := l.punct
	if open != '[' && open != '{' {
		return l.unexpected("JSON value")
	}
	shut := byte(']')
	if open == '{' {
		shut = '}'
	}
	if err := l.next(); err != nil {
		return err
	}
	if !l.is(shut) {
		for first := true; ; first = false {
			key := ""
			if open == '{' {
				if l.tok != jsonStringTok {
					if first {
						return l.unexpected(`string or "}"`)
					}
					return l.unexpected("string")
				}
				key = l.str
				if err := l.next(); err != nil {
					return err
				}
				if !l.is(':') {
					return l.unexpected(`":"`)
				}
				if err := l.next(); err != nil {
					return err
				}
			}
			from := l.start
			if visit == nil {
				if err := l.skipValue(depth+1, nil); err != nil {
					return err
				}
			} else {
				end, err := l.memberEnd(depth + 1)
				if err != nil {
					return err
				}
				visit(key, l.s[from:end])
			}
			if !l.is(',') {
				break
			}
			if err := l.next(); err != nil {
				return err
			}
		}
	}
	if !l.is(shut) {
		if open == '{' {
			return l.unexpected(`"," or "}"`)
		}
		return l.unexpected(`"," or "]"`)
	}
	return l.next()
}

// memberEnd skips a value and finds where its text ends: behind its last token.
func (l *jsonLexer) memberEnd(depth int) (int, error) {
	if err := l.skipValue(depth, nil); err != nil {
		return 0, err
	}
	end := l.start // of the token behind the value
	for end > 0 && (l.s[end-1] == ' ' || l.s[end-1] == '\t' || l.s[end-1] == '\n' || l.s[end-1] == '\r') {
		end--
	}
	return end, nil
}
