package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// stringAgg joins text or bytea values; each but the first is preceded by its
// row's delimiter.
type stringAgg struct {
	buf  []byte
	some bool
}

func (s *stringAgg) Step(_ *Call, args []Datum) error {
	if args[0].Null {
		return nil
	}
	if s.some && !args[1].Null {
		s.buf = append(s.buf, args[1].S...)
	}
	s.some = true
	s.buf = append(s.buf, args[0].S...)
	if len(s.buf) > maxAlloc {
		return pgerror.New(pgerror.ProgramLimitExceeded, "out of memory").
			WithDetail("Cannot enlarge string buffer containing %d bytes by %d more bytes.", len(s.buf)-len(args[0].S), len(args[0].S))
	}
	return nil
}

func (s *stringAgg) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return text(string(s.buf))
}

// arrayAgg collects values, NULLs too, into an array.
type arrayAgg struct{ elems []Datum }

func (s *arrayAgg) Step(_ *Call, args []Datum) error {
	if len(s.elems) >= sqltypes.MaxArrayItems {
		return pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", sqltypes.MaxArrayItems)
	}
	s.elems = append(s.elems, args[0])
	return nil
}

func (s *arrayAgg) Final(c *Call, _ []Datum) (Datum, error) {
	if len(s.elems) == 0 {
		return isNull()
	}
	t, err := elemType(c, c.ArgTypes[0].OID)
	if err != nil {
		return null, err
	}
	return sqltypes.MakeVector(t, s.elems), nil
}

// arrayOfArrays collects arrays of equal dimensions into one of a dimension more.
type arrayOfArrays struct {
	dims  []sqltypes.ArrayDim
	elem  sqltypes.OID
	elems []Datum
	n     int32
}

func (s *arrayOfArrays) Step(_ *Call, args []Datum) error {
	if args[0].Null {
		return pgerror.New(pgerror.NullValueNotAllowed, "cannot accumulate null arrays")
	}
	a := sqltypes.OpenArray(args[0])
	if s.n == 0 {
		if a.NDim() == 0 {
			return pgerror.New(pgerror.ArraySubscriptError, "cannot accumulate empty arrays")
		}
		s.dims = append([]sqltypes.ArrayDim{{Len: 1, Lower: 1}}, a.Dims()...)
		s.elem = a.Elem
		if err := sqltypes.CheckArraySize(s.dims); err != nil {
			return err
		}
	} else {
		different := a.NDim() != len(s.dims)-1
		for i := 0; !different && i < a.NDim(); i++ {
			different = a.Dim(i) != s.dims[i+1]
		}
		if different {
			return pgerror.New(pgerror.ArraySubscriptError, "cannot accumulate arrays of different dimensionality")
		}
	}
	s.n++
	s.dims[0].Len = s.n
	s.elems = append(s.elems, a.Elements()...)
	return sqltypes.CheckArraySize(s.dims)
}

func (s *arrayOfArrays) Final(c *Call, _ []Datum) (Datum, error) {
	if s.n == 0 {
		return isNull()
	}
	t, err := elemType(c, s.elem)
	if err != nil {
		return null, err
	}
	return sqltypes.MakeArray(t, s.dims, s.elems), nil
}

func init() {
	newStringAgg := func(*Call) AggState { return &stringAgg{} }
	aggTable{
		"string_agg(text,text)": newStringAgg, "string_agg(bytea,bytea)": newStringAgg,
		"array_agg(anynonarray)": func(*Call) AggState { return &arrayAgg{} },
		"array_agg(anyarray)":    func(*Call) AggState { return &arrayOfArrays{} },
	}.register()
}
