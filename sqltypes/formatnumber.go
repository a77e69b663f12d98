package sqltypes

import (
	"fmt"
	"math"
	"strings"

	"ostraka/sqltypes/pgerror"
)

var numberPatterns = func() []string {
	keys := []string{",", ".", "0", "9"}
	for _, k := range strings.Fields("B C D EEEE FM G L MI PL PR RN SG SP S TH V") {
		keys = append(keys, k, strings.ToLower(k))
	}
	return keys
}()

// numPicture is a number picture, taken apart.
type numPicture struct {
	nodes                                                                       []pictureNode
	pre, post                                                                   int // digits before and after the point
	multi                                                                       int // digits after V
	zeroStart                                                                   int // first position with a 0, from 1
	zeroEnd                                                                     int
	signAt                                                                      int // of S: 0 none, 1 before, 2 behind
	signPre                                                                     int // digits before the S
	zero, blank, decimal, fill, sign, bracket, minus, plus, roman, isMulti, sci bool
}

func pictureError(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.SyntaxError, format, args...)
}

// parseNumPicture reads a picture and checks what goes with what. Error: 42601.
func parseNumPicture(s string) (*numPicture, error) {
	p := &numPicture{nodes: splitPicture(s, numberPatterns, false)}
	for _, n := range p.nodes {
		if n.kind != pictureAction {
			continue
		}
		key := strings.ToUpper(n.key)
		if p.sci && key != "EEEE" {
			return nil, pictureError("\"EEEE\" must be the last pattern used")
		}
		switch key {
		case "9":
			if p.bracket {
				return nil, pictureError("\"9\" must be ahead of \"PR\"")
			}
			switch {
			case p.isMulti:
				p.multi++
			case p.decimal:
				p.post++
			default:
				p.pre++
			}
		case "0":
			if p.bracket {
				return nil, pictureError("\"0\" must be ahead of \"PR\"")
			}
			if !p.zero && !p.decimal {
				p.zero = true
				p.zeroStart = p.pre + 1
			}
			if p.decimal {
				p.post++
			} else {
				p.pre++
			}
			p.zeroEnd = p.pre + p.post
		case "B":
			p.blank = p.blank || p.pre == 0 && p.post == 0 && !p.zero
		case "D", ".":
			if p.decimal {
				return nil, pictureError("multiple decimal points")
			}
			if p.isMulti {
				return nil, pictureError("cannot use \"V\" and decimal point together")
			}
			p.decimal = true
		case "FM":
			p.fill = true
		case "S":
			if p.sign {
				return nil, pictureError("cannot use \"S\" twice")
			}
			if p.plus || p.minus || p.bracket {
				return nil, pictureError("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
			}
			p.sign = true
			if !p.decimal {
				p.signAt, p.signPre = 1, p.pre
			} else {
				p.signAt = 2
			}
		case "MI", "PL", "SG":
			if p.sign {
				return nil, pictureError("cannot use \"S\" and \"%s\" together", key)
			}
			p.minus = p.minus || key != "PL"
			p.plus = p.plus || key != "MI"
		case "PR":
			if p.sign || p.plus || p.minus {
				return nil, pictureError("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
			}
			p.bracket = true
		case "RN":
			p.roman = true
		case "V":
			if p.decimal {
				return nil, pictureError("cannot use \"V\" and decimal point together")
			}
			p.isMulti = true
		case "EEEE":
			if p.sci {
				return nil, pictureError("cannot use \"EEEE\" twice")
			}
			if p.blank || p.fill || p.sign || p.bracket || p.minus || p.plus || p.roman || p.isMulti {
				return nil, pictureError("\"EEEE\" is incompatible with other formats").
					WithDetail("\"EEEE\" may only be used together with digit and decimal point patterns.")
			}
			p.sci = true
		}
	}
	return p, nil
}

// FormatNumeric is to_char(numeric, picture). Errors: 42601, 0A000, 22003.
func FormatNumeric(d Datum, picture string) (string, error) {
	p, err := parseNumPicture(picture)
	if err != nil {
		return "", err
	}
	switch {
	case p.roman:
		v, err := NumericToInt(d, 32)
		if err != nil {
			return "", err
		}
		return p.render(toRoman(v), 0, 0)
	case p.sci:
		if !NumericIsFinite(d) {
			return p.sciOverflow(), nil
		}
		s, err := numericSci(d, p.post)
		if err != nil {
			return "", err
		}
		return s, nil
	}
	if p.isMulti {
		x, err := NumericPower(Datum{I: 10}, Datum{I: int64(p.multi)})
		if err != nil {
			return "", err
		}
		if d, err = NumericMul(d, x); err != nil {
			return "", err
		}
		p.pre += p.multi
	}
	if d, err = NumericRound(d, p.post); err != nil {
		return "", err
	}
	return p.finish(NumericString(d))
}

// FormatInt is to_char of an integer.
func FormatInt(v int64, picture string) (string, error) {
	p, err := parseNumPicture(picture)
	if err != nil {
		return "", err
	}
	switch {
	case p.roman:
		return p.render(toRoman(v), 0, 0)
	case p.sci && v > -1<<31 && v < 1<<31:
		return sciFloat(float64(v), p.post), nil
	}
	return FormatNumeric(Int(v), picture)
}

// FormatFloat is to_char of a float of 32 or 64 bits.
func FormatFloat(f float64, bits int, picture string) (string, error) {
	p, err := parseNumPicture(picture)
	if err != nil {
		return "", err
	}
	digits := 15
	if bits == 32 {
		digits = 6
	}
	switch {
	case p.roman:
		r := math.RoundToEven(f)
		if r != r || math.Abs(r) > 1e9 {
			r = 0
		}
		return p.render(toRoman(int64(r)), 0, 0)
	case p.sci:
		if f != f || math.IsInf(f, 0) {
			return p.sciOverflow(), nil
		}
		return sciFloat(f, p.post), nil
	}
	if p.isMulti {
		f *= math.Pow(10, float64(p.multi))
		p.pre += p.multi
	}
	if pre := len(cFloat(math.Abs(f), 0)); pre >= digits {
		p.post = 0
	} else if pre+p.post > digits {
		p.post = digits - pre
	}
	return p.finish(cFloat(f, p.post))
}

// cFloat is %.*f of PostgreSQL's own printf.
func cFloat(f float64, prec int) string {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return fmt.Sprintf("%.*f", prec, f)
}

func sciFloat(f float64, prec int) string {
	s := fmt.Sprintf("%+.*e", prec, f)
	if s[0] == '+' {
		s = " " + s[1:]
	}
	return s
}

func (p *numPicture) sciOverflow() string {
	b := []byte(strings.Repeat("#", p.pre+p.post+6))
	b[0], b[p.pre+1] = ' ', '.'
	return string(b)
}

// numericSci is d in scientific notation with so many decimals.
func numericSci(d Datum, prec int) (string, error) {
	e, nonzero := leading(d)
	exp := 0
	if nonzero {
		exp = e - 1
	}
	z := numericBig(d)
	// d / 10^exp, rounded to prec decimals. Like PostgreSQL this may give 10e+01.
	shift := prec - exp - int(NumericScale(d))
	if shift >= 0 {
		z.Mul(z, bigPow10(shift))
	} else {
		z = roundQuo(z, bigPow10(-shift))
	}
	m, err := makeNumericBig(z, int32(prec))
	if err != nil {
		return "", err
	}
	s := fmt.Sprintf("%se%+03d", NumericString(m), exp)
	if s[0] != '-' {
		s = " " + s
	}
	return s, nil
}

// finish pads or overflows the digits and runs the picture over them.
func (p *numPicture) finish(num string) (string, error) {
	sign := byte('+')
	if num[0] == '-' {
		sign, num = '-', num[1:]
	}
	pre := strings.IndexByte(num, '.')
	if pre < 0 {
		pre = len(num)
	}
	pad := 0
	if pre < p.pre {
		pad = p.pre - pre
	} else if pre > p.pre {
		num = strings.Repeat("#", p.pre) + "." + strings.Repeat("#", p.post)
	}
	return p.render(num, pad, sign)
}

// toRoman writes 1…3999, or fifteen # for what has no Roman numeral.
func toRoman(v int64) string {
	if v < 1 || v > 3999 {
		return strings.Repeat("#", 15)
	}
	var b strings.Builder
	for _, r := range [...]struct {
		v int64
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; v >= r.v; v -= r.v {
			b.WriteString(r.s)
		}
	}
	return b.String()
}

// numWriter is the state of writing digits through a picture.
type numWriter struct {
	*numPicture
	out       []byte
	num       string
	at        int // next character of num
	pad       int // positions before the first digit
	sign      byte
	signDone  bool
	inNumber  bool // a digit was written at the last position
	pos       int  // digit position
	count     int
	relevant  int // FM: last character of num worth writing, -1 when it does not matter
	zeroStart int
}

// render is the heart of to_char: digits num (with # for overflow) with pad
// positions in front, through the picture.
func (p *numPicture) render(num string, pad int, sign byte) (string, error) {
	w := numWriter{numPicture: p, num: num, pad: pad, sign: sign, relevant: -1, zeroStart: p.zeroStart - 1}
	signAt := p.signAt
	if p.roman {
		fill := p.fill
		nodes := p.nodes
		*p = numPicture{nodes: nodes, fill: fill, roman: true}
		w.sign = 0
		signAt = 0
	}
	if p.plus || p.minus {
		w.signDone = !(p.plus && !p.minus)
	} else {
		if w.sign != '-' && p.bracket && p.fill {
			p.bracket = false
		}
		w.signDone = w.sign == '+' && p.fill && !p.sign
		if signAt == 1 && p.pre == p.signPre {
			signAt = 2
		}
	}
	p.signAt = signAt
	w.count = p.post + p.pre - 1
	if p.fill && p.decimal {
		if i := strings.IndexByte(num, '.'); i >= 0 {
			w.relevant = i
			for k := i + 1; k < len(num); k++ {
				if num[k] != '0' {
					w.relevant = k
				}
			}
			if p.zeroEnd > pad {
				w.relevant = max(w.relevant, min(len(num)-1, p.zeroEnd-pad))
			}
		}
	}
	if !w.signDone && pad == 0 {
		w.count++
	}
	for _, n := range p.nodes {
		if n.kind != pictureAction {
			w.out = append(w.out, n.text...)
			continue
		}
		switch key := strings.ToUpper(n.key); key {
		case "9", "0", ".", "D":
			w.digit(key)
		case ",", "G":
			if w.inNumber {
				w.out = append(w.out, ',')
			} else if !p.fill {
				w.out = append(w.out, ' ')
			}
		case "L":
			w.out = append(w.out, currencySymbol...)
		case "RN":
			s := num
			if n.key == "rn" {
				s = strings.ToLower(s)
			}
			if !p.fill {
				s = fmt.Sprintf("%15s", s)
			}
			w.out = append(w.out, s...)
		case "TH":
			if p.roman || num[0] == '#' || w.sign == '-' || p.decimal {
				continue
			}
			th := ordinalSuffix([]byte(num), n.key == "TH")
			if th == "" {
				return "", pgerror.New(pgerror.InvalidTextRepresentation, "\"%s\" is not a number", num)
			}
			w.out = append(w.out, th...)
		case "MI":
			if w.sign == '-' {
				w.out = append(w.out, '-')
			} else if !p.fill {
				w.out = append(w.out, ' ')
			}
		case "PL":
			if w.sign == '+' {
				w.out = append(w.out, '+')
			} else if !p.fill {
				w.out = append(w.out, ' ')
			}
		case "SG":
			w.out = append(w.out, w.sign)
		}
	}
	// A zero byte ends the text, as it does where strings end with one.
	out, _, _ := strings.Cut(string(w.out), "\x00")
	return out, nil
}

// currencySymbol is what L shows: the C locale has none, which makes a space.
const currencySymbol = " "

// predecSpace: a lone 0 before the point is shown as a space ("9.9" of 0.1).
func (w *numWriter) predecSpace() bool {
	return !w.zero && w.at == 0 && w.num[0] == '0' && w.post != 0
}

func (w *numWriter) relevantIsPoint() bool { return w.relevant >= 0 && w.num[w.relevant] == '.' }

// digit writes what stands at one digit or point of the picture.
func (w *numWriter) digit(key string) {
	if w.roman {
		return
	}
	w.inNumber = false
	if !w.signDone && (w.pos >= w.pad || w.zero && w.zeroStart == w.pos) && (!w.predecSpace() || w.relevantIsPoint()) {
		switch {
		case w.numPicture.sign:
			if w.signAt == 1 {
				w.out = append(w.out, w.sign)
				w.signDone = true
			}
		case w.bracket:
			c := byte('<')
			if w.sign == '+' {
				c = ' '
			}
			w.out = append(w.out, c)
			w.signDone = true
		case w.sign == '+':
			if !w.fill {
				w.out = append(w.out, ' ')
			}
			w.signDone = true
		case w.sign == '-':
			w.out = append(w.out, '-')
			w.signDone = true
		}
	}
	switch {
	case w.pos < w.pad && (w.zeroStart > w.pos || !w.zero):
		if !w.fill {
			w.out = append(w.out, ' ')
		}
	case w.zero && w.pos < w.pad && w.zeroStart <= w.pos:
		w.out = append(w.out, '0')
		w.inNumber = true
	default:
		if w.at < len(w.num) && w.num[w.at] == '.' {
			if !w.relevantIsPoint() || w.fill {
				w.out = append(w.out, '.')
			}
		} else {
			switch {
			case w.relevant >= 0 && w.at > w.relevant && key != "0":
			case w.predecSpace():
				if !w.fill {
					w.out = append(w.out, ' ')
				} else if w.relevantIsPoint() {
					w.out = append(w.out, '0')
				}
			case w.at < len(w.num):
				w.out = append(w.out, w.num[w.at])
				w.inNumber = true
			default:
				w.out = append(w.out, 0) // past the digits: nothing from here on shows
				w.inNumber = true
			}
		}
		if w.at < len(w.num) {
			w.at++
		}
	}
	end := w.count
	if w.pad != 0 {
		end++
	}
	if w.decimal {
		end++
	}
	if w.relevant >= 0 && w.relevant == w.at {
		end = w.pos
	}
	if w.pos+1 == end {
		switch {
		case w.signDone && w.bracket:
			c := byte('>')
			if w.sign == '+' {
				c = ' '
			}
			w.out = append(w.out, c)
		case w.numPicture.sign && w.signAt == 2:
			w.out = append(w.out, w.sign)
		}
	}
	w.pos++
}
