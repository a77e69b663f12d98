package sqltypes

import (
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// ParseMoney reads an amount in the C/en_US style: an optional sign or
// parentheses, an optional $, digits with commas, two decimals (more are
// rounded). The value is in cents. Errors: 22P02, 22003.
func ParseMoney(s string) (int64, error) {
	t := strings.Trim(s, spaces)
	neg := false
	sign := func() {
		if strings.HasPrefix(t, "-") {
			neg = true
			t = t[1:]
		} else if strings.HasPrefix(t, "(") {
			neg = true
			t = t[1:]
		} else if strings.HasPrefix(t, "+") {
			t = t[1:]
		}
	}
	t = strings.TrimPrefix(t, "$")
	sign()
	t = strings.TrimLeft(t, spaces)
	if strings.HasPrefix(t, "$") {
		t = t[1:]
		if !neg {
			sign()
		}
	}
	t = strings.TrimLeft(t, spaces)
	var v int64 // kept negative: its range is larger
	digits, dec, point := 0, 0, false
	i := 0
	for ; i < len(t); i++ {
		c := t[i]
		switch {
		case isDigit(c) && (!point || dec < 2):
			digits++
			n := int64(c - '0')
			if v < (-1<<63+n)/10 {
				return 0, outOfRangeText(s, "money")
			}
			v = v*10 - n
			if point {
				dec++
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		case c == ',' && !point:
			continue
		}
		break
	}
	for ; dec < 2; dec++ {
		if v < -1<<63/10 {
			return 0, outOfRangeText(s, "money")
		}
		v *= 10
	}
	if i < len(t) && isDigit(t[i]) {
		if t[i] >= '5' {
			if v == -1<<63 {
				return 0, outOfRangeText(s, "money")
			}
			v--
		}
		for i < len(t) && isDigit(t[i]) {
			i++
		}
		digits++
	}
	for ; i < len(t); i++ {
		switch c := t[i]; {
		case isSpace(c) || c == ')' || c == '$':
		case c == '-':
			neg = true
		default:
			return 0, badSyntax("money", s)
		}
	}
	if digits == 0 && !point {
		return 0, badSyntax("money", s)
	}
	if neg {
		return v, nil
	}
	if v == -1<<63 {
		return 0, outOfRangeText(s, "money")
	}
	return -v, nil
}

// AppendMoney writes cents as "$1,234.57".
func AppendMoney(dst []byte, v int64) []byte {
	if v < 0 {
		dst = append(dst, '-')
	}
	u := absU(v)
	dst = append(dst, '$')
	var buf [24]byte
	whole := strconv.AppendUint(buf[:0], u/100, 10)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c)
	}
	return append(dst, '.', byte('0'+u%100/10), byte('0'+u%10))
}

// MoneyOutOfRange is the 22003 of money arithmetic.
func MoneyOutOfRange() error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "money out of range")
}

func moneyCodec() codec {
	c := int8Codec()
	c.in = func(_ *Env, s string, _ int32) (Datum, error) {
		v, err := ParseMoney(s)
		return Int(v), err
	}
	c.out = func(_ *Env, dst []byte, d Datum) []byte { return AppendMoney(dst, d.I) }
	return c
}
