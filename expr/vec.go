package expr

import "ostraka/sqltypes"

// BatchSize is the number of rows an operator hands upward at a time.
const BatchSize = 1024

// Vec is one column of up to BatchSize values of one type (a struct of slices, of
// which Kind tells the one in use). Slices have length ≥ the batch's N.
type Vec struct {
	Kind sqltypes.Kind
	// Null has bit i set when value i is NULL; nil when no value is NULL.
	Null Bitmap
	I64  []int64          // KInt; KNumeric while Wide is false (value × 10^Scale)
	F64  []float64        // KFloat
	Str  []string         // KBytes; may alias an arena
	Dat  []sqltypes.Datum // KDatum; KNumeric when Wide is true
	// Scale is the common number of decimal digits of I64 (KNumeric, not Wide).
	Scale int32
	// Wide: KNumeric values are in Dat, each with a scale of its own.
	Wide bool

	nulls Bitmap // storage that Null is taken from
}

// Bitmap is a set of row numbers, 64 to a word.
type Bitmap []uint64

func (b Bitmap) Get(i int) bool { return b != nil && b[i>>6]&(1<<(uint(i)&63)) != 0 }
func (b Bitmap) Set(i int)      { b[i>>6] |= 1 << (uint(i) & 63) }
func (b Bitmap) Clear(i int)    { b[i>>6] &^= 1 << (uint(i) & 63) }

// Batch is what operators exchange. The receiver of a batch may read it until it
// asks for the next one; vectors may be shared with the sender, so only the
// operator that made a vector writes to it.
type Batch struct {
	N    int      // physical rows in the vectors
	Sel  []uint16 // when not nil: the rows that exist, ascending
	Cols []*Vec   // nil entries: columns nobody asked for
}

// Rows is the number of logical rows.
func (b *Batch) Rows() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Datum reads value i (a physical row) of the vector.
func (v *Vec) Datum(i int) sqltypes.Datum {
	if v.Null.Get(i) {
		return sqltypes.Null
	}
	switch v.Kind {
	case sqltypes.KInt:
		return sqltypes.Datum{I: v.I64[i]}
	case sqltypes.KFloat:
		return sqltypes.Float(v.F64[i])
	case sqltypes.KNumeric:
		if v.Wide {
			return v.Dat[i]
		}
		return sqltypes.Datum{I: v.I64[i], Aux: v.Scale}
	case sqltypes.KBytes:
		return sqltypes.Datum{S: v.Str[i]}
	default:
		return v.Dat[i]
	}
}
