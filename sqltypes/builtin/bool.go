package builtin

func init() {
	scalarTable{
		"booland_statefunc": func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].Bool() && a[1].Bool()) },
		"boolor_statefunc":  func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].Bool() || a[1].Bool()) },
		"booltext": func(_ *Call, a []Datum) (Datum, error) {
			if a[0].Bool() {
				return text("true")
			}
			return text("false")
		},
		"pg_num_nulls":    func(c *Call, a []Datum) (Datum, error) { return countNulls(c, a, true) },
		"pg_num_nonnulls": func(c *Call, a []Datum) (Datum, error) { return countNulls(c, a, false) },
	}.register()
}

// countNulls counts the arguments, or the elements of a VARIADIC array, that are NULL (or are not).
func countNulls(c *Call, args []Datum, nulls bool) (Datum, error) {
	if c.VariadicArray {
		if args[0].Null {
			return isNull()
		}
		elems, err := arrayElements(args[0])
		if err != nil {
			return null, err
		}
		args = elems
	}
	n := int64(0)
	for _, a := range args {
		if a.Null == nulls {
			n++
		}
	}
	return integer(n)
}
