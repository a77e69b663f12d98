package sqltypes

// EnumInfo is what an enum type consists of.
type EnumInfo struct {
	Labels []EnumLabel // in enum order
	byOID  map[OID]int
	byName map[string]int
}

// EnumLabel is one row of pg_enum.
type EnumLabel struct {
	OID  OID
	Sort float32
	Name string
}

// Field is one attribute of a composite.
type Field struct {
	Name string
	Type *Type
	ColumnType
}

// RangeInfo is what a range or multirange is made of.
type RangeInfo struct {
	Subtype   *Type
	Range     *Type                                // the range of a multirange, the type itself of a range
	Multi     *Type                                // the multirange of a range, the type itself of a multirange
	Canonical func(lower, upper *RangeBound) error // nil: continuous
}
