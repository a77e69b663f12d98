package builtin

import (
	"math/big"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maskBits makes the netmask of an address of size bytes.
func maskBits(size, bits int) []byte {
	m := make([]byte, size)
	for i := range m {
		switch left := bits - 8*i; {
		case left >= 8:
			m[i] = 0xFF
		case left > 0:
			m[i] = 0xFF << (8 - left)
		}
	}
	return m
}

// mapInet makes a function of an inet that computes another address of the same family.
func mapInet(f func(addr, mask byte) byte, bits func(bits, width int) int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		_, n, addr := sqltypes.InetParts(args[0])
		mask := maskBits(len(addr), n)
		out := make([]byte, len(addr))
		for i := range out {
			out[i] = f(addr[i], mask[i])
		}
		return sqltypes.MakeInet(out, bits(n, 8*len(addr))), nil
	}
}

// combineInet makes & and |.
func combineInet(verb string, f func(a, b byte) byte) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		fa, na, a := sqltypes.InetParts(args[0])
		fb, nb, b := sqltypes.InetParts(args[1])
		if fa != fb {
			return fail(pgerror.New(pgerror.InvalidParameterValue, "cannot %s inet values of different sizes", verb))
		}
		out := make([]byte, len(a))
		for i := range out {
			out[i] = f(a[i], b[i])
		}
		return sqltypes.MakeInet(out, max(na, nb)), nil
	}
}

// contains makes the inclusion operators: the outer network's bits must agree,
// and test compares outer and inner mask length.
func containsInet(swap bool, test func(outer, inner int) bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		outer, inner := args[0], args[1]
		if swap {
			outer, inner = inner, outer
		}
		fo, no, ao := sqltypes.InetParts(outer)
		fi, ni, ai := sqltypes.InetParts(inner)
		return boolean(fo == fi && test(no, ni) && sqltypes.CompareNetBits(ao, ai, min(no, ni)) == 0)
	}
}

func hostText(d Datum) string {
	_, _, addr := sqltypes.InetParts(d)
	return string(sqltypes.AppendIPAddr(nil, addr))
}

func setMaskLen(cidr bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		_, _, addr := sqltypes.InetParts(args[0])
		n := args[1].I
		if n == -1 {
			n = int64(8 * len(addr))
		}
		if n < 0 || n > int64(8*len(addr)) {
			return fail(pgerror.New(pgerror.InvalidParameterValue, "invalid mask length: %d", n))
		}
		out := []byte(addr)
		if cidr {
			for i, m := range maskBits(len(addr), int(n)) {
				out[i] &= m
			}
		}
		return sqltypes.MakeInet(out, int(n)), nil
	}
}

// addInet adds an offset to an address and refuses results outside its family.
func addInet(d Datum, offset int64) (Datum, error) {
	_, n, addr := sqltypes.InetParts(d)
	v := new(big.Int).SetBytes([]byte(addr))
	v.Add(v, big.NewInt(offset))
	if v.Sign() < 0 || v.BitLen() > 8*len(addr) {
		return fail(pgerror.New(pgerror.NumericValueOutOfRange, "result is out of range"))
	}
	return sqltypes.MakeInet(v.FillBytes(make([]byte, len(addr))), n), nil
}

func subtractInets(_ *Call, args []Datum) (Datum, error) {
	fa, _, a := sqltypes.InetParts(args[0])
	fb, _, b := sqltypes.InetParts(args[1])
	if fa != fb {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "cannot subtract inet values of different sizes"))
	}
	v := new(big.Int).SetBytes([]byte(a))
	v.Sub(v, new(big.Int).SetBytes([]byte(b)))
	if !v.IsInt64() {
		return fail(pgerror.New(pgerror.NumericValueOutOfRange, "result is out of range"))
	}
	return integer(v.Int64())
}

// mergeInets is the smallest network that holds both.
func mergeInets(_ *Call, args []Datum) (Datum, error) {
	fa, na, a := sqltypes.InetParts(args[0])
	fb, nb, b := sqltypes.InetParts(args[1])
	if fa != fb {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "cannot merge addresses from different families"))
	}
	n := min(na, nb)
	for n > 0 && sqltypes.CompareNetBits(a, b, n) != 0 {
		n--
	}
	out := []byte(a)
	for i, m := range maskBits(len(a), n) {
		out[i] &= m
	}
	return sqltypes.MakeInet(out, n), nil
}

// abbreviated is abbrev(): a cidr without its zero octets, an inet without a full mask.
func abbreviated(cidr bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		family, n, addr := sqltypes.InetParts(args[0])
		if !cidr {
			return text(string(sqltypes.AppendInet(nil, args[0], false)))
		}
		if family == 6 {
			return text(abbreviate6(addr, n))
		}
		host := strings.Split(hostText(args[0]), ".")
		keep := max((n+7)/8, 1)
		s := strings.Join(host[:keep], ".")
		if n == 0 {
			s = "0"
		}
		return text(s + "/" + itoa(n))
	}
}

func init() {
	compareOps("network_*", sqltypes.CompareInet, nil)
	same := func(n, _ int) int { return n }
	full := func(_, width int) int { return width }
	scalarTable{
		"network_cmp": compareProc(sqltypes.CompareInet), "network_larger": larger(sqltypes.CompareInet), "network_smaller": smaller(sqltypes.CompareInet),
		"network_sub":     containsInet(true, func(o, i int) bool { return o < i }),
		"network_subeq":   containsInet(true, func(o, i int) bool { return o <= i }),
		"network_sup":     containsInet(false, func(o, i int) bool { return o < i }),
		"network_supeq":   containsInet(false, func(o, i int) bool { return o <= i }),
		"network_overlap": containsInet(false, func(o, i int) bool { return true }),
		"network_host":    func(_ *Call, a []Datum) (Datum, error) { return text(hostText(a[0])) },
		"network_show":    func(_ *Call, a []Datum) (Datum, error) { return text(string(sqltypes.AppendInet(nil, a[0], true))) },
		"network_family": func(_ *Call, a []Datum) (Datum, error) {
			f, _, _ := sqltypes.InetParts(a[0])
			return integer(int64(f))
		},
		"network_masklen": func(_ *Call, a []Datum) (Datum, error) {
			_, n, _ := sqltypes.InetParts(a[0])
			return integer(int64(n))
		},
		"network_broadcast":      mapInet(func(a, m byte) byte { return a | ^m }, same),
		"network_network":        mapInet(func(a, m byte) byte { return a & m }, same),
		"network_netmask":        mapInet(func(_, m byte) byte { return m }, full),
		"network_hostmask":       mapInet(func(_, m byte) byte { return ^m }, full),
		"inet_to_cidr":           mapInet(func(a, m byte) byte { return a & m }, same),
		"inetnot":                mapInet(func(a, _ byte) byte { return ^a }, same),
		"inetand":                combineInet("AND", func(a, b byte) byte { return a & b }),
		"inetor":                 combineInet("OR", func(a, b byte) byte { return a | b }),
		"inetpl":                 func(_ *Call, a []Datum) (Datum, error) { return addInet(a[0], a[1].I) },
		"int8pl_inet(int8,inet)": func(_ *Call, a []Datum) (Datum, error) { return addInet(a[1], a[0].I) },
		"inetmi_int8":            func(_ *Call, a []Datum) (Datum, error) { return addInet(a[0], -a[1].I) },
		"inetmi":                 subtractInets,
		"inet_merge":             mergeInets,
		"inet_same_family":       func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].S[0] == a[1].S[0]) },
		"inet_set_masklen":       setMaskLen(false), "cidr_set_masklen": setMaskLen(true),
		"inet_abbrev": abbreviated(false), "cidr_abbrev": abbreviated(true),
	}.register()
}
