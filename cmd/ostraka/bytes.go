package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag of so many bytes, written as a number or with a unit of
// PostgreSQL's: 64MB is 64·2²⁰ bytes (MiB says the same).
type byteSize struct{ p *int64 }

var byteUnits = map[string]uint{"": 0, "b": 0, "kb": 10, "mb": 20, "gb": 30, "tb": 40, "kib": 10, "mib": 20, "gib": 30, "tib": 40}

func (b byteSize) Set(s string) error {
	s = strings.TrimSpace(s)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	shift, ok := byteUnits[strings.ToLower(strings.TrimSpace(s[digits:]))]
	if err != nil || !ok || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a number of bytes, such as 67108864, 64MB or 1GB", s)
	}
	*b.p = n << shift
	return nil
}

func (b byteSize) String() string {
	if b.p == nil {
		return "0"
	}
	return strconv.FormatInt(*b.p, 10)
}

func (byteSize) Type() string { return "bytes" }
