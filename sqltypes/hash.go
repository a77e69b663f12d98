package sqltypes

import (
	"cmp"
	"math"
	"strings"

	"github.com/zeebo/xxh3"
)

// HashInt is the hash of every KInt type, so that integers of all widths hash alike.
func HashInt(v int64) uint64 {
	h := uint64(v) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

// HashString is the hash of text and of every type compared by its bytes.
func HashString(s string) uint64 { return xxh3.HashString(s) }

// HashFloat treats -0 as 0 and every NaN alike, as float comparison does.
func HashFloat(f float64) uint64 {
	switch {
	case f == 0:
		return HashInt(0)
	case f != f:
		return HashInt(0x7FF8000000000001)
	}
	return HashInt(int64(math.Float64bits(f)))
}

// hashCombine folds the hash of one element into that of those before it.
func hashCombine(h, e uint64) uint64 { return (h<<5 - h) + e }

func compareI(a, b Datum) int { return cmp.Compare(a.I, b.I) }
func compareU(a, b Datum) int { return cmp.Compare(uint64(a.I), uint64(b.I)) }
func compareS(a, b Datum) int { return strings.Compare(a.S, b.S) }
func hashI(d Datum) uint64    { return HashInt(d.I) }
func hashS(d Datum) uint64    { return xxh3.HashString(d.S) }
