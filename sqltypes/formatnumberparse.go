package sqltypes

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// numReader is the state of reading a number through a picture.
type numReader struct {
	*numPicture
	s                 string
	at                int
	sign              byte
	digits            []byte
	readPre, readPost int
	point             bool
	wasRead           bool // the last position gave a digit or the point
}

// ParseNumberAs is to_number(text, picture); Null for an empty picture. Errors:
// 42601, 22P02, 22003, 0A000.
func ParseNumberAs(text, picture string) (Datum, error) {
	if picture == "" {
		return Null, nil
	}
	p, err := parseNumPicture(picture)
	if err != nil {
		return Null, err
	}
	if p.sci {
		return Null, pgerror.New(pgerror.FeatureNotSupported, "\"EEEE\" not supported for input")
	}
	if p.roman {
		return Null, pgerror.New(pgerror.FeatureNotSupported, "\"RN\" not supported for input")
	}
	if !p.plus && !p.minus && p.signAt == 1 && p.pre == p.signPre {
		p.signAt = 2
	}
	r := numReader{numPicture: p, s: text, sign: ' '}
	for _, n := range p.nodes {
		if r.done() {
			break
		}
		if n.kind != pictureAction {
			r.at += runeLen(r.s[r.at:])
			continue
		}
		switch strings.ToUpper(n.key) {
		case "9", "0", ".", "D":
			r.part(strings.ToUpper(n.key))
		case ",", "G":
			if p.fill || r.s[r.at] != ',' {
				continue
			}
		case "L":
			r.skip(len(currencySymbol))
			continue
		case "TH":
			if !p.decimal {
				r.skip(2)
			}
			continue
		case "MI", "PL", "SG":
			c := r.s[r.at]
			if c == '-' && n.key != "PL" && n.key != "pl" || c == '+' && n.key != "MI" && n.key != "mi" {
				r.sign = c
				r.at++
			} else {
				r.skip(1)
			}
			continue
		default:
			continue
		}
		r.at++
	}
	num := strings.TrimSuffix(string(r.digits), ".")
	scale := r.readPost
	d, err := ParseNumeric(strings.TrimLeft(string(r.sign), " ") + num)
	if err != nil {
		return Null, badSyntax("numeric", string(r.sign)+num)
	}
	if d, err = ApplyNumericTypMod(d, NumericTypMod(p.pre+p.multi+scale, scale)); err != nil {
		return Null, err
	}
	if p.isMulti {
		x, err := NumericPower(Datum{I: 10}, Datum{I: int64(-p.multi)})
		if err != nil {
			return Null, err
		}
		return NumericMul(d, x)
	}
	return d, nil
}

func (r *numReader) done() bool { return r.at >= len(r.s) }

// skip passes over up to n characters that are no part of a number.
func (r *numReader) skip(n int) {
	for ; n > 0 && !r.done() && strings.IndexByte("0123456789.,+-", r.s[r.at]) < 0; n-- {
		r.at += runeLen(r.s[r.at:])
	}
}

// part reads a sign, digit or point; it stands on the character it took.
func (r *numReader) part(key string) {
	r.wasRead = false
	if r.done() {
		return
	}
	if r.s[r.at] == ' ' {
		r.at++
	}
	if r.done() {
		return
	}
	signChar := func() bool { return r.s[r.at] == '-' || r.s[r.at] == '+' }
	if r.sign == ' ' && (key == "0" || key == "9") && r.readPre+r.readPost == 0 {
		switch {
		case r.numPicture.sign && r.signAt == 1:
			if signChar() {
				r.sign = r.s[r.at]
				r.at++
			}
		case r.s[r.at] == '-' || r.bracket && r.s[r.at] == '<':
			r.sign = '-'
			r.at++
		case r.s[r.at] == '+':
			r.sign = '+'
			r.at++
		}
	}
	if r.done() {
		return
	}
	switch c := r.s[r.at]; {
	case isDigit(c):
		if r.point && r.readPost == r.post {
			return
		}
		r.digits = append(r.digits, c)
		if r.point {
			r.readPost++
		} else {
			r.readPre++
		}
		r.wasRead = true
	case r.decimal && !r.point && c == '.':
		r.digits = append(r.digits, '.')
		r.point, r.wasRead = true, true
	}
	if r.done() || r.sign != ' ' || r.readPre+r.readPost == 0 {
		return
	}
	switch {
	case r.numPicture.sign && r.wasRead && r.at+1 < len(r.s) && !isDigit(r.s[r.at+1]):
		// S behind the last digit.
		if c := r.s[r.at+1]; c == '-' || c == '+' {
			r.sign = c
			r.at++
		}
	case !r.wasRead && !r.numPicture.sign && (r.plus || r.minus):
		if signChar() {
			r.sign = r.s[r.at]
		}
	}
}
