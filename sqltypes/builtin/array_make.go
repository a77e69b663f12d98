package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// arrayFill is array_fill with and without lower bounds.
func arrayFill(c *Call, args []Datum) (Datum, error) {
	if args[1].Null || len(args) > 2 && args[2].Null {
		return arrayError(pgerror.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	lengths := sqltypes.OpenArray(args[1])
	if lengths.NDim() > 1 {
		return fail(wrongSubscripts("Dimension array must be one dimensional."))
	}
	if lengths.HasNulls() {
		return arrayError(pgerror.NullValueNotAllowed, "dimension values cannot be null")
	}
	if lengths.Len() > sqltypes.MaxArrayDims {
		return arrayError(pgerror.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", lengths.Len(), sqltypes.MaxArrayDims)
	}
	dims := make([]sqltypes.ArrayDim, lengths.Len())
	for i, n := range lengths.Elements() {
		dims[i] = sqltypes.ArrayDim{Len: int32(n.I), Lower: 1}
	}
	if len(args) > 2 {
		lower := sqltypes.OpenArray(args[2])
		if lower.NDim() > 1 {
			return fail(wrongSubscripts("Dimension array must be one dimensional."))
		}
		if lower.Len() != len(dims) {
			return fail(wrongSubscripts("Low bound array has different size than dimensions array."))
		}
		if lower.HasNulls() {
			return arrayError(pgerror.NullValueNotAllowed, "dimension values cannot be null")
		}
		for i, n := range lower.Elements() {
			dims[i].Lower = int32(n.I)
		}
	}
	t, err := elemType(c, c.ArgTypes[0].OID)
	if err != nil {
		return null, err
	}
	if err := sqltypes.CheckArraySize(dims); err != nil {
		return null, err
	}
	n := int64(1)
	for _, d := range dims {
		n *= int64(d.Len)
	}
	if len(dims) == 0 || n <= 0 {
		return sqltypes.MakeVector(t, nil), nil
	}
	if (int64(len(args[0].S))+8)*n > maxAlloc {
		return arrayError(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", maxAlloc)
	}
	elems := make([]Datum, n)
	for i := range elems {
		elems[i] = args[0]
	}
	return sqltypes.MakeArray(t, dims, elems), nil
}

func wrongSubscripts(detail string) *pgerror.Error {
	return pgerror.New(pgerror.ArraySubscriptError, "wrong number of array subscripts").WithDetail("%s", detail)
}

func trimArray(c *Call, args []Datum) (Datum, error) {
	a, n := sqltypes.OpenArray(args[0]), args[1].I
	have := int64(0)
	if a.NDim() > 0 {
		have = int64(a.Dim(0).Len)
	}
	if n < 0 || n > have {
		return arrayError(pgerror.ArrayElementError, "number of elements to trim must be between 0 and %d", have)
	}
	if n == 0 {
		return args[0], nil
	}
	t, err := elemType(c, a.Elem)
	if err != nil {
		return null, err
	}
	dims := append([]sqltypes.ArrayDim(nil), a.Dims()...)
	keep := a.Len() / int(have) * int(have-n)
	dims[0].Len = int32(have - n)
	for i := range dims {
		dims[i].Lower = 1
	}
	return sqltypes.MakeArray(t, dims, a.Elements()[:keep]), nil
}

// arrayToText joins the elements; NULLs are left out unless a text for them is given.
func arrayToText(c *Call, args []Datum) (Datum, error) {
	if args[0].Null || args[1].Null {
		return isNull()
	}
	a, sep := sqltypes.OpenArray(args[0]), args[1].S
	var b strings.Builder
	some := false
	for _, e := range a.Elements() {
		s := ""
		switch {
		case !e.Null:
			s = outText(c, a.Elem, e)
		case len(args) > 2 && !args[2].Null:
			s = args[2].S
		default:
			continue
		}
		if some {
			b.WriteString(sep)
		}
		some = true
		b.WriteString(s)
	}
	return text(b.String())
}

// splitText is string_to_array's way of cutting a text; a NULL separator cuts
// into characters, and a field equal to nullString becomes NULL.
func splitText(args []Datum) []Datum {
	s := args[0].S
	if s == "" {
		return nil
	}
	var fields []string
	switch {
	case args[1].Null:
		for _, r := range s {
			fields = append(fields, string(r))
		}
	case args[1].S == "":
		fields = []string{s}
	default:
		fields = strings.Split(s, args[1].S)
	}
	out := make([]Datum, len(fields))
	for i, f := range fields {
		if len(args) > 2 && !args[2].Null && f == args[2].S {
			out[i] = null
		} else {
			out[i] = sqltypes.Text(f)
		}
	}
	return out
}

func textToArray(_ *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	return makeArray(sqltypes.OIDText, splitText(args))
}

func init() {
	scalarTable{
		"array_fill": arrayFill, "array_fill_with_lower_bounds": arrayFill, "trim_array": trimArray,
		"array_to_text": arrayToText, "array_to_text_null": arrayToText,
		"text_to_array": textToArray, "text_to_array_null": textToArray,
	}.register()
}
