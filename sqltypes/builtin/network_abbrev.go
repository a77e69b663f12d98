package builtin

import (
	"strconv"

	"ostraka/sqltypes"
)

func itoa(n int) string { return strconv.Itoa(n) }

// abbreviate6 is abbrev() of an IPv6 network: only the words that the mask
// reaches (at least two), the longest run of zero words, even one, as "::".
func abbreviate6(addr string, bits int) string {
	if bits == 8*len(addr) {
		return string(sqltypes.AppendIPAddr(nil, addr)) + "/" + itoa(bits)
	}
	words := max((bits+15)/16, 2)
	word := func(i int) uint64 { return uint64(addr[2*i])<<8 | uint64(addr[2*i+1]) }
	start, length := -1, 0
	for i := 0; i < words; i++ {
		n := 0
		for i+n < words && word(i+n) == 0 {
			n++
		}
		if n > length {
			start, length = i, n
		}
	}
	var out []byte
	for i := 0; i < words; i++ {
		if i == start {
			out = append(out, "::"...)
			i += length - 1
			continue
		}
		if len(out) > 0 && out[len(out)-1] != ':' {
			out = append(out, ':')
		}
		out = strconv.AppendUint(out, word(i), 16)
	}
	return string(out) + "/" + itoa(bits)
}
