package builtin

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// outText is a non-null value's text form.
func outText(c *Call, typ sqltypes.OID, d Datum) string {
	t := sqltypes.LookupType(c.Env, typ)
	if t == nil {
		return d.S
	}
	if t.Kind == sqltypes.KBytes && (typ == sqltypes.OIDText || typ == sqltypes.OIDVarchar || typ == sqltypes.OIDUnknown) {
		return d.S
	}
	return string(t.Out(c.Env, nil, d))
}

// castText is value::text, which differs from the output form for a few types.
func castText(c *Call, typ sqltypes.OID, d Datum) string {
	switch typ {
	case sqltypes.OIDBool:
		return strconv.FormatBool(d.Bool())
	case sqltypes.OIDInet, sqltypes.OIDCidr:
		return string(sqltypes.AppendInet(nil, d, true))
	}
	return outText(c, typ, d)
}

// variadicValues returns the values of a VARIADIC "any" call from argument
// number at on, with the type of each: the elements of the array when the call
// was written with VARIADIC. ok is false when that array is NULL.
func variadicValues(c *Call, args []Datum, at int) (values []Datum, typeOf func(i int) sqltypes.OID, ok bool, err error) {
	if !c.VariadicArray {
		return args[at:], func(i int) sqltypes.OID { return c.ArgTypes[at+i].OID }, true, nil
	}
	if args[at].Null {
		return nil, nil, false, nil
	}
	elem := sqltypes.OID(0)
	if t := sqltypes.LookupType(c.Env, c.ArgTypes[at].OID); t != nil {
		elem = t.Elem
	}
	values, err = arrayElements(args[at])
	return values, func(int) sqltypes.OID { return elem }, true, err
}

// joinText concatenates the non-null values with sep between them.
func joinText(c *Call, args []Datum, at int, sep string) (Datum, error) {
	values, typeOf, ok, err := variadicValues(c, args, at)
	if err != nil || !ok {
		return null, err
	}
	var b strings.Builder
	some := false
	for i, v := range values {
		if v.Null {
			continue
		}
		if some {
			b.WriteString(sep)
		}
		some = true
		b.WriteString(outText(c, typeOf(i), v))
		if b.Len() > maxAlloc {
			return fail(tooLarge())
		}
	}
	return text(b.String())
}

func concat(c *Call, args []Datum) (Datum, error) { return joinText(c, args, 0, "") }

func concatWS(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	return joinText(c, args, 1, args[0].S)
}

func invalidFormat(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, format, args...)
}

// formatter interprets the template of format(): %[n$][-][width|*|*n$]type.
type formatter struct {
	c      *Call
	values []Datum
	typeOf func(int) sqltypes.OID
	tmpl   string
	at     int // next byte of tmpl
	next   int // next value, 0-based
	out    []byte
}

// formatText is format(); args[0] is the template.
func formatText(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	f := formatter{c: c, tmpl: args[0].S}
	if len(args) > 1 {
		var err error
		if f.values, f.typeOf, _, err = variadicValues(c, args, 1); err != nil {
			return null, err
		}
	}
	for f.at < len(f.tmpl) {
		if f.tmpl[f.at] != '%' {
			f.out = append(f.out, f.tmpl[f.at])
			f.at++
			continue
		}
		f.at++
		if err := f.specifier(); err != nil {
			return fail(err)
		}
		if len(f.out) > maxAlloc {
			return fail(tooLarge())
		}
	}
	return text(string(f.out))
}

func unterminated() *pgerror.Error {
	return invalidFormat("unterminated format() type specifier").WithHint("For a single \"%%\" use \"%%%%\".")
}

// number reads digits; ok is false when there are none.
func (f *formatter) number() (n int64, ok bool, err *pgerror.Error) {
	for f.at < len(f.tmpl) && f.tmpl[f.at] >= '0' && f.tmpl[f.at] <= '9' {
		n = n*10 + int64(f.tmpl[f.at]-'0')
		if n > math.MaxInt32 {
			return 0, false, pgerror.New(pgerror.NumericValueOutOfRange, "number is out of range")
		}
		ok = true
		f.at++
	}
	if f.at >= len(f.tmpl) {
		return n, ok, unterminated()
	}
	return n, ok, nil
}

// take returns value number n (1-based; 0: the next one).
func (f *formatter) take(n int64) (int, *pgerror.Error) {
	if n > 0 {
		f.next = int(n) - 1
	}
	if f.next >= len(f.values) {
		return 0, invalidFormat("too few arguments for format()")
	}
	f.next++
	return f.next - 1, nil
}

func (f *formatter) specifier() *pgerror.Error {
	if f.at >= len(f.tmpl) {
		return unterminated()
	}
	if f.tmpl[f.at] == '%' {
		f.out = append(f.out, '%')
		f.at++
		return nil
	}
	arg, leftAlign, width, err := f.options()
	if err != nil {
		return err
	}
	kind := f.tmpl[f.at]
	if !strings.ContainsRune("sIL", rune(kind)) {
		r, _ := utf8.DecodeRuneInString(f.tmpl[f.at:])
		return invalidFormat("unrecognized format() type specifier \"%c\"", r).WithHint("For a single \"%%\" use \"%%%%\".")
	}
	f.at++
	i, err := f.take(arg)
	if err != nil {
		return err
	}
	value := f.values[i]
	s := ""
	switch {
	case value.Null && kind == 'I':
		return pgerror.New(pgerror.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
	case value.Null && kind == 'L':
		s = "NULL"
	case value.Null:
	default:
		s = outText(f.c, f.typeOf(i), value)
		if kind == 'I' {
			s = sqltypes.QuoteIdent(s)
		} else if kind == 'L' {
			s = quoteLiteral(s)
		}
	}
	f.pad(s, leftAlign, width)
	return nil
}

// options reads argument position, flags and width.
func (f *formatter) options() (arg int64, leftAlign bool, width int64, err *pgerror.Error) {
	n, some, err := f.number()
	if err != nil {
		return 0, false, 0, err
	}
	if some {
		if f.tmpl[f.at] != '$' {
			return 0, false, n, nil // it was the width
		}
		if n == 0 {
			return 0, false, 0, invalidFormat("format specifies argument 0, but arguments are numbered from 1")
		}
		arg = n
		f.at++
	}
	for f.at < len(f.tmpl) && f.tmpl[f.at] == '-' {
		leftAlign = true
		f.at++
	}
	if f.at >= len(f.tmpl) {
		return 0, false, 0, unterminated()
	}
	if f.tmpl[f.at] != '*' {
		width, _, err = f.number()
		return arg, leftAlign, width, err
	}
	f.at++
	n, some, err = f.number()
	if err != nil {
		return 0, false, 0, err
	}
	if some {
		if n == 0 {
			return 0, false, 0, invalidFormat("format specifies argument 0, but arguments are numbered from 1")
		}
		if f.tmpl[f.at] != '$' {
			return 0, false, 0, invalidFormat("width argument position must be ended by \"$\"")
		}
		f.at++
		if f.at >= len(f.tmpl) {
			return 0, false, 0, unterminated()
		}
	}
	i, err := f.take(n)
	if err != nil {
		return 0, false, 0, err
	}
	width, err = f.widthValue(i)
	if width < 0 {
		leftAlign, width = true, -width
	}
	return arg, leftAlign, width, err
}

// widthValue is the value of a * width.
func (f *formatter) widthValue(i int) (int64, *pgerror.Error) {
	v := f.values[i]
	if v.Null {
		return 0, nil
	}
	switch f.typeOf(i) {
	case sqltypes.OIDInt2, sqltypes.OIDInt4:
		return v.I, nil
	}
	n, err := sqltypes.ParseInt(outText(f.c, f.typeOf(i), v), 32, "integer")
	if err != nil {
		if e, ok := err.(*pgerror.Error); ok {
			return 0, e
		}
		return 0, invalidFormat("%s", err)
	}
	return n, nil
}

func (f *formatter) pad(s string, left bool, width int64) {
	missing := int(max(width-int64(utf8.RuneCountInString(s)), 0))
	if missing > maxAlloc {
		missing = maxAlloc
	}
	if !left {
		f.out = append(f.out, strings.Repeat(" ", missing)...)
	}
	f.out = append(f.out, s...)
	if left {
		f.out = append(f.out, strings.Repeat(" ", missing)...)
	}
}

func init() {
	scalarTable{
		"text_concat": concat, "text_concat_ws": concatWS, "text_format": formatText, "text_format_nv": formatText,
		// anyelement || text and text || anyelement are written in SQL.
		"textanycat(text,anynonarray)": func(c *Call, a []Datum) (Datum, error) {
			return text(a[0].S + castText(c, c.ArgTypes[1].OID, a[1]))
		},
		"anytextcat(anynonarray,text)": func(c *Call, a []Datum) (Datum, error) {
			return text(castText(c, c.ArgTypes[0].OID, a[0]) + a[1].S)
		},
	}.register()
}
