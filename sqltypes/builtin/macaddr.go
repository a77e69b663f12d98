package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// mapBytes makes a function of values of the same length, byte by byte.
func mapBytes(f func(a, b byte) byte) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		out := []byte(args[0].S)
		for i := range out {
			b := byte(0)
			if len(args) > 1 && i < len(args[1].S) {
				b = args[1].S[i]
			}
			out[i] = f(out[i], b)
		}
		return sqltypes.Bytes(out), nil
	}
}

// truncMac clears what is not the manufacturer's part.
func truncMac(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	return text(s[:3] + strings.Repeat("\x00", len(s)-3))
}

func macTo8(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	return text(s[:3] + "\xff\xfe" + s[3:])
}

func mac8To6(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	if s[3:5] != "\xff\xfe" {
		return fail(pgerror.New(pgerror.NumericValueOutOfRange, "macaddr8 data out of range to convert to macaddr").
			WithHint("Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr."))
	}
	return text(s[:3] + s[5:])
}

func init() {
	for _, name := range []string{"macaddr", "macaddr8"} {
		compareOps(name+"_*", compareBytes, nil)
		scalarTable{
			name + "_cmp":   compareProc(compareBytes),
			name + "_not":   mapBytes(func(a, _ byte) byte { return ^a }),
			name + "_and":   mapBytes(func(a, b byte) byte { return a & b }),
			name + "_or":    mapBytes(func(a, b byte) byte { return a | b }),
			name + "_trunc": truncMac,
		}.register()
	}
	scalarTable{
		"macaddrtomacaddr8": macTo8, "macaddr8tomacaddr": mac8To6,
		"macaddr8_set7bit": func(_ *Call, a []Datum) (Datum, error) {
			b := []byte(a[0].S)
			b[0] |= 2
			return sqltypes.Bytes(b), nil
		},
	}.register()
}
