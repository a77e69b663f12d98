package storage

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
)

// appendKeyNumeric encodes sign, decimal exponent and the significant digits in
// pairs: a pair p is 2p+1 when another follows, 2p when it is the last one. A
// negative number has all of that inverted. 1.0 and 1.00 are the same key.
func appendKeyNumeric(dst []byte, d sqltypes.Datum) []byte {
	var buf [40]byte
	var digits []byte
	neg := false
	exp := 0 // value = 0.digits × 10^exp
	if d.S == "" {
		if d.I == 0 {
			return append(dst, hdrNumZero)
		}
		u := uint64(d.I)
		if neg = d.I < 0; neg {
			u = -u
		}
		digits = strconv.AppendUint(buf[:0], u, 10)
		exp = len(digits) - int(d.Aux)
	} else {
		text := string(sqltypes.TypeByOID(sqltypes.OIDNumeric).Out(nil, buf[:0], d))
		switch text {
		case "NaN":
			return append(dst, hdrNumNaN)
		case "Infinity":
			return append(dst, hdrNumInf)
		case "-Infinity":
			return append(dst, hdrNumNegInf)
		}
		text, neg = strings.CutPrefix(text, "-")
		whole, frac, _ := strings.Cut(text, ".")
		whole = strings.TrimLeft(whole, "0")
		exp = len(whole)
		all := whole + frac
		trimmed := strings.TrimLeft(all, "0")
		exp -= len(all) - len(trimmed)
		digits = []byte(trimmed)
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return append(dst, hdrNumZero)
	}
	if neg {
		dst = append(dst, hdrNumNeg)
	} else {
		dst = append(dst, hdrNumPos)
	}
	at := len(dst)
	dst = appendKeyInt(dst, int64(exp))
	for i := 0; i < len(digits); i += 2 {
		p := 10 * (digits[i] - '0')
		if i+1 < len(digits) {
			p += digits[i+1] - '0'
		}
		if p *= 2; i+2 < len(digits) {
			p++
		}
		dst = append(dst, p)
	}
	if neg {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}
