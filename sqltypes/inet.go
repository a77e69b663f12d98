package sqltypes

import (
	"net/netip"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// inet and cidr: the payload is the family (4 or 6), the number of network bits,
// and the 4 or 16 bytes of the address.

// MakeInet builds a value from an address (4 or 16 bytes) and its network bits.
func MakeInet(addr []byte, bits int) Datum {
	family := byte(4)
	if len(addr) == 16 {
		family = 6
	}
	b := make([]byte, 0, 18)
	return Bytes(append(append(b, family, byte(bits)), addr...))
}

// InetParts takes a value apart; family is 4 or 6.
func InetParts(d Datum) (family, bits int, addr string) {
	if len(d.S) < 6 {
		return 4, 0, "\x00\x00\x00\x00"
	}
	return int(d.S[0]), int(d.S[1]), d.S[2:]
}

// ParseInet reads an inet, ParseCIDR a cidr (no bits right of the mask; an IPv4
// network may leave out octets and, by its class, the mask).
func ParseInet(s string) (Datum, error) { return parseNetwork(s, false) }
func ParseCIDR(s string) (Datum, error) { return parseNetwork(s, true) }

func parseNetwork(s string, cidr bool) (Datum, error) {
	typ := "inet"
	if cidr {
		typ = "cidr"
	}
	text, mask, hasMask := strings.Cut(s, "/")
	bits := -1
	if hasMask {
		if mask == "" || len(mask) > 3 || strings.Trim(mask, "0123456789") != "" || len(mask) > 1 && mask[0] == '0' {
			return Null, badSyntax(typ, s)
		}
		bits, _ = strconv.Atoi(mask)
	}
	var addr []byte
	if strings.IndexByte(text, ':') >= 0 {
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return Null, badSyntax(typ, s)
		}
		if bits < 0 {
			bits = 128
		}
		a16 := a.As16()
		addr = a16[:]
		if bits > 128 {
			return Null, badSyntax(typ, s)
		}
	} else {
		n, ok := 0, false
		if addr, n, ok = parseIPv4(text); !ok {
			return Null, badSyntax(typ, s)
		}
		if bits < 0 {
			switch {
			case n == 4:
				bits = 32
			case !cidr:
				return Null, badSyntax(typ, s)
			default:
				bits = max(classBits(addr[0]), 8*n)
				if bits == 8 && addr[0] == 224 {
					bits = 4
				}
			}
		}
		if bits > 32 {
			return Null, badSyntax(typ, s)
		}
	}
	d := MakeInet(addr, bits)
	if cidr && !hostBitsZero(addr, bits) {
		return Null, pgerror.New(pgerror.InvalidTextRepresentation, "invalid cidr value: \"%s\"", s).
			WithDetail("Value has bits set to right of mask.")
	}
	return d, nil
}

// parseIPv4 reads one to four octets; n is their number.
func parseIPv4(s string) (addr []byte, n int, ok bool) {
	addr = make([]byte, 4)
	for _, part := range strings.Split(s, ".") {
		if n == 4 || part == "" || strings.Trim(part, "0123456789") != "" {
			return nil, 0, false
		}
		v := 0
		for i := 0; i < len(part); i++ {
			if v = v*10 + int(part[i]-'0'); v > 255 {
				return nil, 0, false
			}
		}
		addr[n] = byte(v)
		n++
	}
	return addr, n, true
}

func classBits(first byte) int {
	switch {
	case first >= 240:
		return 32
	case first >= 224:
		return 8
	case first >= 192:
		return 24
	case first >= 128:
		return 16
	}
	return 8
}

func hostBitsZero(addr []byte, bits int) bool {
	for i := range addr {
		keep := min(max(bits-8*i, 0), 8)
		if addr[i]&(0xFF>>keep) != 0 {
			return false
		}
	}
	return true
}

// AppendInet writes address and mask; the mask is left out when it covers the
// whole address, unless always (cidr).
func AppendInet(dst []byte, d Datum, always bool) []byte {
	family, bits, addr := InetParts(d)
	dst = AppendIPAddr(dst, addr)
	if always || family == 4 && bits != 32 || family == 6 && bits != 128 {
		dst = strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
	return dst
}

// AppendIPAddr writes an address of 4 or 16 bytes the way PostgreSQL does: the
// first longest run of zero words is "::", and addresses that embed IPv4 end in
// dotted form.
func AppendIPAddr(dst []byte, addr string) []byte {
	if len(addr) == 4 {
		for i := 0; i < 4; i++ {
			if i > 0 {
				dst = append(dst, '.')
			}
			dst = strconv.AppendUint(dst, uint64(addr[i]), 10)
		}
		return dst
	}
	var words [8]uint16
	for i := range words {
		words[i] = be16(addr[2*i:])
	}
	base, best := -1, 1
	for i := 0; i < 8; {
		if words[i] != 0 {
			i++
			continue
		}
		j := i
		for j < 8 && words[j] == 0 {
			j++
		}
		if j-i > best {
			base, best = i, j-i
		}
		i = j
	}
	for i := 0; i < 8; i++ {
		if base >= 0 && i >= base && i < base+best {
			if i == base {
				dst = append(dst, ':')
			}
			continue
		}
		if i > 0 {
			dst = append(dst, ':')
		}
		if i == 6 && base == 0 && (best == 6 || best == 7 && words[7] != 1 || best == 5 && words[5] == 0xFFFF) {
			return AppendIPAddr(dst, addr[12:])
		}
		dst = strconv.AppendUint(dst, uint64(words[i]), 16)
	}
	if base >= 0 && base+best == 8 {
		dst = append(dst, ':')
	}
	return dst
}

// CompareInet orders by family, network, mask, address.
func CompareInet(a, b Datum) int {
	fa, ba, xa := InetParts(a)
	fb, bb, xb := InetParts(b)
	if fa != fb {
		return cmpInt(fa, fb)
	}
	if c := CompareNetBits(xa, xb, min(ba, bb)); c != 0 {
		return c
	}
	if ba != bb {
		return cmpInt(ba, bb)
	}
	return strings.Compare(xa, xb)
}

// CompareNetBits compares the first n bits of two addresses of one family.
func CompareNetBits(a, b string, n int) int {
	full := n / 8
	if c := strings.Compare(a[:full], b[:full]); c != 0 || n%8 == 0 {
		return c
	}
	shift := 8 - n%8
	return cmpInt(int(a[full]>>shift), int(b[full]>>shift))
}

func inetCodec(cidr bool) codec {
	name := "inet"
	isCIDR := byte(0)
	if cidr {
		name, isCIDR = "cidr", 1
	}
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return parseNetwork(s, cidr) },
		out:  func(_ *Env, dst []byte, d Datum) []byte { return AppendInet(dst, d, cidr) },
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			// Family: 2 is IPv4, 3 is IPv6 (PGSQL_AF_INET, PGSQL_AF_INET6).
			r := &wireReader{b: b}
			family, bits, _, n := r.u8(), int(r.u8()), r.u8(), int(r.u8())
			if r.short {
				return Null, r.done()
			}
			bad := func(what string) error {
				return pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid %s in external \"%s\" value", what, name)
			}
			size := 4
			switch family {
			case 2:
			case 3:
				size = 16
			default:
				return Null, bad("address family")
			}
			if bits > 8*size {
				return Null, bad("bits")
			}
			if n != size {
				return Null, bad("length")
			}
			addr := r.bytes(size)
			if err := r.done(); err != nil {
				return Null, err
			}
			if cidr && !hostBitsZero(addr, bits) {
				return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid external \"cidr\" value").
					WithDetail("Value has bits set to right of mask.")
			}
			return MakeInet(addr, bits), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			family, bits, addr := InetParts(d)
			dst = append(dst, byte(family/2), byte(bits), isCIDR, byte(len(addr)))
			return append(dst, addr...)
		},
		compare: CompareInet, hash: hashS,
	}
}
