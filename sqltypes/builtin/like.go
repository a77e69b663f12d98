package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func badLikeEscape() *pgerror.Error {
	return pgerror.New(pgerror.InvalidEscapeSequence, "LIKE pattern must not end with escape character")
}

// likePattern is a LIKE pattern taken apart: literal pieces between % signs.
// A piece is a sequence of literal bytes and single-character wildcards.
type likePattern struct {
	source string
	bytes  bool // bytea: _ is one byte
	pieces []likePiece
	// reaches is set when the pattern ends with the escape character: an error
	// for the texts that match up to there and have something left.
	reaches *likePattern
	// anchored: the pattern has no % before the first, after the last piece.
	anchoredStart, anchoredEnd bool
}

type likePiece struct {
	// parts are literals; between two of them stands one _.
	parts []string
	plain bool // one literal without _
}

// compileLike parses a pattern whose escape character is the backslash.
func compileLike(pattern string, bytes bool) *likePattern {
	p := &likePattern{source: pattern, bytes: bytes, anchoredStart: true, anchoredEnd: true}
	var literal []byte
	piece := likePiece{}
	empty := true
	closePiece := func() {
		piece.parts = append(piece.parts, string(literal))
		piece.plain = len(piece.parts) == 1
		if !empty {
			p.pieces = append(p.pieces, piece)
		}
		piece, literal, empty = likePiece{}, nil, true
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			i++
			if i == len(pattern) {
				return &likePattern{source: pattern, reaches: compileLike(pattern[:i-1]+"_%", bytes)}
			}
			literal = append(literal, pattern[i])
			empty = false
		case '_':
			piece.parts = append(piece.parts, string(literal))
			literal, empty = nil, false
		case '%':
			if len(p.pieces) == 0 && empty {
				p.anchoredStart = false
			}
			closePiece()
			p.anchoredEnd = false
			continue
		default:
			literal = append(literal, c)
			empty = false
		}
		p.anchoredEnd = true
	}
	closePiece()
	return p
}

// prefix returns how many bytes of s the piece matches at its start, or -1.
func (p *likePattern) prefix(piece *likePiece, s string) int {
	n := 0
	for i, part := range piece.parts {
		if i > 0 {
			if n >= len(s) {
				return -1
			}
			size := 1
			if !p.bytes && s[n] >= utf8.RuneSelf {
				_, size = utf8.DecodeRuneInString(s[n:])
			}
			n += size
		}
		if !strings.HasPrefix(s[n:], part) {
			return -1
		}
		n += len(part)
	}
	return n
}

// find returns the first place in s where the piece matches, and its end.
func (p *likePattern) find(piece *likePiece, s string) (start, end int) {
	if piece.plain {
		at := strings.Index(s, piece.parts[0])
		return at, at + len(piece.parts[0])
	}
	for i := 0; i <= len(s); {
		if piece.parts[0] != "" {
			at := strings.Index(s[i:], piece.parts[0])
			if at < 0 {
				return -1, 0
			}
			i += at
		}
		if n := p.prefix(piece, s[i:]); n >= 0 {
			return i, i + n
		}
		if i == len(s) {
			break
		}
		size := 1
		if !p.bytes && s[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
	}
	return -1, 0
}

// match takes the first fit of each piece, which is enough: what follows a %
// may start anywhere later. The last anchored piece must fit at the end.
func (p *likePattern) match(s string) bool {
	pieces := p.pieces
	if len(pieces) == 0 {
		return s == "" || !p.anchoredStart
	}
	if p.anchoredStart {
		n := p.prefix(&pieces[0], s)
		if n < 0 {
			return false
		}
		if len(pieces) == 1 && p.anchoredEnd {
			return n == len(s)
		}
		s, pieces = s[n:], pieces[1:]
	}
	for len(pieces) > 0 {
		if len(pieces) == 1 && p.anchoredEnd {
			return p.suffix(&pieces[0], s)
		}
		start, end := p.find(&pieces[0], s)
		if start < 0 {
			return false
		}
		s, pieces = s[end:], pieces[1:]
	}
	return true
}

// suffix reports whether the piece matches the end of s.
func (p *likePattern) suffix(piece *likePiece, s string) bool {
	for i := len(piece.parts) - 1; i >= 0; i-- {
		if !strings.HasSuffix(s, piece.parts[i]) {
			return false
		}
		s = s[:len(s)-len(piece.parts[i])]
		if i > 0 {
			if s == "" {
				return false
			}
			size := 1
			if !p.bytes {
				_, size = utf8.DecodeLastRuneInString(s)
			}
			s = s[:len(s)-size]
		}
	}
	return true
}

// like makes one of the LIKE operators; the compiled pattern is kept in the call.
func like(not, fold, bytes bool) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		s, pattern := args[0].S, args[1].S
		p, ok := c.Cache.(*likePattern)
		if !ok || p.source != pattern {
			source := pattern
			if fold {
				pattern = foldLike(c, pattern)
			}
			p = compileLike(pattern, bytes)
			p.source = source
			c.Cache = p
		}
		if fold {
			s = foldLike(c, s)
		}
		if p.reaches != nil {
			if p.reaches.match(s) {
				return fail(badLikeEscape())
			}
			return boolean(not)
		}
		return boolean(p.match(s) != not)
	}
}

func foldLike(c *Call, s string) string { return changeCase(c, s, unicode.ToLower, asciiLower) }

// likeEscape rewrites a pattern with another escape character to one with the backslash.
func likeEscape(bytes bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		pattern, escape := args[0].S, args[1].S
		if escape == "" {
			return text(strings.ReplaceAll(pattern, `\`, `\\`))
		}
		if utf8.RuneCountInString(escape) != 1 && !bytes || bytes && len(escape) != 1 {
			return fail(pgerror.New(pgerror.InvalidEscapeSequence, "invalid escape string").WithHint("Escape string must be empty or one character."))
		}
		if escape == `\` {
			return text(pattern)
		}
		var b strings.Builder
		afterEscape := false
		for pattern != "" {
			if strings.HasPrefix(pattern, escape) && !afterEscape {
				b.WriteByte('\\')
				afterEscape = true
				pattern = pattern[len(escape):]
				continue
			}
			if pattern[0] == '\\' && !afterEscape {
				b.WriteByte('\\')
			}
			b.WriteByte(pattern[0])
			pattern = pattern[1:]
			afterEscape = false
		}
		return text(b.String())
	}
}

func init() {
	scalarTable{
		"textlike": like(false, false, false), "textnlike": like(true, false, false),
		"namelike": like(false, false, false), "namenlike": like(true, false, false),
		"bytealike": like(false, false, true), "byteanlike": like(true, false, true),
		"texticlike": like(false, true, false), "texticnlike": like(true, true, false),
		"nameiclike": like(false, true, false), "nameicnlike": like(true, true, false),
		"like_escape": likeEscape(false), "like_escape_bytea": likeEscape(true),
	}.register()
}
