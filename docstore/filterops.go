package docstore

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

type cmpOp uint8

const (
	cmpEq cmpOp = iota
	cmpGt
	cmpGte
	cmpLt
	cmpLte
)

// compareLeaf compares a value, or an element of an array, with a constant of
// the same class (type bracketing).
type compareLeaf struct {
	op    cmpOp
	val   JSON
	class Class
	str   string         // ClassString
	num   sqltypes.Datum // ClassNumber
}

func newCompare(op cmpOp, v JSON) *compareLeaf {
	l := &compareLeaf{op: op, val: v, class: ClassOf(v)}
	switch l.class {
	case ClassString:
		l.str = v.Str()
	case ClassNumber:
		l.num = v.Number()
	case ClassNull:
		if op == cmpGte || op == cmpLte {
			l.op = cmpEq
		}
	}
	return l
}

func (l *compareLeaf) at(v JSON, ok bool) bool {
	if !ok {
		return l.class == ClassNull && l.op == cmpEq
	}
	if v.Kind() == sqltypes.JSONArray {
		if l.class == ClassArray && l.one(v) {
			return true
		}
		for i, n := 0, v.Len(); i < n; i++ {
			if l.one(v.Index(i)) {
				return true
			}
		}
		return false
	}
	return l.one(v)
}

func (l *compareLeaf) one(v JSON) bool {
	var c int
	switch l.class {
	case ClassNumber:
		if v.Kind() != sqltypes.JSONNumber {
			return false
		}
		d := v.Number()
		if d.S == "" && l.num.S == "" && d.Aux == l.num.Aux {
			switch {
			case d.I < l.num.I:
				c = -1
			case d.I > l.num.I:
				c = 1
			}
		} else {
			c = sqltypes.NumericCmp(d, l.num)
		}
	case ClassString:
		if v.Kind() != sqltypes.JSONString {
			return false
		}
		if l.op == cmpEq {
			return v.Str() == l.str
		}
		c = strings.Compare(v.Str(), l.str)
	case ClassBool:
		if v.Kind() != sqltypes.JSONBool {
			return false
		}
		c = compareSame(ClassBool, v, l.val)
	default:
		if ClassOf(v) != l.class {
			return false
		}
		c = compareSame(l.class, v, l.val)
	}
	switch l.op {
	case cmpEq:
		return c == 0
	case cmpGt:
		return c > 0 && l.class != ClassNull
	case cmpGte:
		return c >= 0
	case cmpLt:
		return c < 0 && l.class != ClassNull
	}
	return c <= 0
}

// inLeaf is $in: equal to one of the list.
type inLeaf struct {
	vals    []JSON
	hasNull bool
	set     map[string]struct{} // of long lists: keys of the values
}

const longList = 8

func newIn(op string, arg JSON) (*inLeaf, error) {
	if arg.Kind() != sqltypes.JSONArray {
		return nil, invalid("%s needs an array", op)
	}
	l := &inLeaf{vals: arg.Elems()}
	for _, v := range l.vals {
		if operators(v) {
			return nil, invalid("cannot nest operators in %s", op)
		}
		l.hasNull = l.hasNull || ClassOf(v) == ClassNull
	}
	if len(l.vals) > longList {
		l.set = make(map[string]struct{}, len(l.vals))
		for _, v := range l.vals {
			l.set[string(AppendKey(nil, v))] = struct{}{}
		}
	}
	return l, nil
}

func (l *inLeaf) at(v JSON, ok bool) bool {
	if !ok {
		return l.hasNull
	}
	if l.one(v) {
		return true
	}
	if v.Kind() == sqltypes.JSONArray {
		for i, n := 0, v.Len(); i < n; i++ {
			if l.one(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

func (l *inLeaf) one(v JSON) bool {
	if l.set != nil {
		var buf [64]byte
		_, ok := l.set[string(AppendKey(buf[:0], v))]
		return ok
	}
	for _, w := range l.vals {
		if Equal(v, w) {
			return true
		}
	}
	return false
}

type existsLeaf struct{}

func (existsLeaf) at(_ JSON, ok bool) bool { return ok }

// sizeLeaf is $size.
type sizeLeaf int64

func (n sizeLeaf) at(v JSON, ok bool) bool {
	return ok && v.Kind() == sqltypes.JSONArray && int64(v.Len()) == int64(n)
}

// elemLeaf is $elemMatch.
type elemLeaf struct {
	of      node
	objects bool
}

func (l *elemLeaf) at(v JSON, ok bool) bool {
	if !ok || v.Kind() != sqltypes.JSONArray {
		return false
	}
	for i, n := 0, v.Len(); i < n; i++ {
		e := v.Index(i)
		if l.objects && !e.IsContainer() {
			continue
		}
		if l.of.match(e) {
			return true
		}
	}
	return false
}

// modLeaf is $mod.
type modLeaf struct{ div, rem int64 }

func newMod(arg JSON) (leaf, error) {
	if arg.Kind() != sqltypes.JSONArray || arg.Len() != 2 {
		return nil, invalid("$mod needs [divisor, remainder]")
	}
	var n [2]int64
	for i := range n {
		v := arg.Index(i)
		if v.Kind() != sqltypes.JSONNumber {
			return nil, invalid("$mod needs numbers")
		}
		d, err := sqltypes.NumericTrunc(v.Number(), 0)
		if err == nil {
			n[i], err = sqltypes.NumericToInt64(d)
		}
		if err != nil {
			return nil, err
		}
	}
	if n[0] == 0 {
		return nil, invalid("divisor cannot be 0")
	}
	return modLeaf{n[0], n[1]}, nil
}

func (l modLeaf) at(v JSON, ok bool) bool {
	if !ok {
		return false
	}
	if v.Kind() == sqltypes.JSONArray {
		for i, n := 0, v.Len(); i < n; i++ {
			if l.one(v.Index(i)) {
				return true
			}
		}
		return false
	}
	return l.one(v)
}

func (l modLeaf) one(v JSON) bool {
	if v.Kind() != sqltypes.JSONNumber {
		return false
	}
	d, err := sqltypes.NumericTrunc(v.Number(), 0)
	if err != nil {
		return false
	}
	n, err := sqltypes.NumericToInt64(d)
	return err == nil && (l.div == -1 && l.rem == 0 || l.div != -1 && n%l.div == l.rem)
}

// typeLeaf is $type.
type typeLeaf map[string]bool

// typeNumbers are BSON's type numbers of the types that documents have.
var typeNumbers = map[int64]string{1: "double", 2: "string", 3: "object", 4: "array", 8: "bool", 9: "date", 10: "null", 16: "int", 18: "long", 19: "decimal"}

func newType(arg JSON) (leaf, error) {
	l := typeLeaf{}
	list := []JSON{arg}
	if arg.Kind() == sqltypes.JSONArray {
		list = arg.Elems()
	}
	if len(list) == 0 {
		return nil, invalid("$type must match at least one type")
	}
	for _, v := range list {
		switch v.Kind() {
		case sqltypes.JSONString:
			switch s := v.Str(); s {
			case "double", "string", "object", "array", "bool", "date", "null", "int", "long", "decimal", "number":
				l[s] = true
			case "objectId", "binData", "regex", "timestamp", "javascript", "minKey", "maxKey", "undefined", "symbol", "dbPointer":
				return nil, pgerror.NotSupported("type %s in $type", s)
			default:
				return nil, invalid("unknown type name alias: %s", s)
			}
		case sqltypes.JSONNumber:
			n, err := wholeNumber("$type", v)
			if err != nil {
				return nil, err
			}
			name, ok := typeNumbers[n]
			if !ok {
				return nil, pgerror.NotSupported("type number %d in $type", n)
			}
			l[name] = true
		default:
			return nil, invalid("$type needs names or numbers of types")
		}
	}
	return l, nil
}

func (l typeLeaf) at(v JSON, ok bool) bool {
	if !ok {
		return false
	}
	if l.one(v) {
		return true
	}
	if v.Kind() == sqltypes.JSONArray {
		for i, n := 0, v.Len(); i < n; i++ {
			if l.one(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

func (l typeLeaf) one(v JSON) bool {
	name := TypeName(v)
	return l[name] || l["number"] && ClassOf(v) == ClassNumber
}

// TypeName is the name of a value's type, as $type has it: a whole number is int
// (32 bits), long (64) or decimal, another one double.
func TypeName(v JSON) string {
	switch ClassOf(v) {
	case ClassNumber:
		d := v.Number()
		if sqltypes.NumericIsInteger(d) && sqltypes.NumericScale(d) == 0 {
			n, err := sqltypes.NumericToInt64(d)
			switch {
			case err != nil:
				return "decimal"
			case n == int64(int32(n)):
				return "int"
			}
			return "long"
		}
		return "double"
	case ClassString:
		return "string"
	case ClassBool:
		return "bool"
	case ClassArray:
		return "array"
	case ClassObject:
		return "object"
	case ClassDate:
		return "date"
	}
	return "null"
}

// regexLeaf is $regex.
type regexLeaf struct {
	re *regexp.Regexp
	// prefix is what every match begins with ("" unless anchored and case matters).
	prefix string
}

func newRegex(pattern, options JSON) (*regexLeaf, error) {
	if pattern.Kind() != sqltypes.JSONString {
		return nil, invalid("$regex has to be a string")
	}
	opts := ""
	if !options.IsZero() {
		if options.Kind() != sqltypes.JSONString {
			return nil, invalid("$options has to be a string")
		}
		opts = options.Str()
	}
	re, err := compileRegex(pattern.Str(), opts)
	if err != nil {
		return nil, err
	}
	l := &regexLeaf{re: re}
	if !strings.ContainsAny(opts, "im") {
		l.prefix = anchoredPrefix(pattern.Str())
	}
	return l, nil
}

func compileRegex(pattern, opts string) (*regexp.Regexp, error) {
	flags := ""
	for _, o := range opts {
		switch o {
		case 'i', 'm', 's':
			flags += string(o)
		case 'u':
		default:
			return nil, pgerror.NotSupported("regular expression option %c", o)
		}
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, pgerror.New(pgerror.InvalidRegularExpression, "invalid regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// anchoredPrefix is the literal text that all matches of ^literal… begin with.
func anchoredPrefix(pattern string) string {
	rest, ok := strings.CutPrefix(pattern, "^")
	if !ok {
		return ""
	}
	re, err := syntax.Parse(rest, syntax.Perl)
	if err != nil {
		return ""
	}
	re = re.Simplify()
	if re.Op == syntax.OpConcat && len(re.Sub) > 0 {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		return ""
	}
	return string(re.Rune)
}

func (l *regexLeaf) at(v JSON, ok bool) bool {
	if !ok {
		return false
	}
	switch v.Kind() {
	case sqltypes.JSONString:
		return l.re.MatchString(v.Str())
	case sqltypes.JSONArray:
		for i, n := 0, v.Len(); i < n; i++ {
			if e := v.Index(i); e.Kind() == sqltypes.JSONString && l.re.MatchString(e.Str()) {
				return true
			}
		}
	}
	return false
}

// truthy is how an option or an expression's value counts as a condition: not
// false, null, missing or 0.
func truthy(v JSON) bool {
	switch ClassOf(v) {
	case ClassNull:
		return false
	case ClassBool:
		return v.Bool()
	case ClassNumber:
		return sqltypes.NumericSign(v.Number()) != 0
	}
	return true
}

func wholeNumber(what string, v JSON) (int64, error) {
	if v.Kind() == sqltypes.JSONNumber && sqltypes.NumericIsInteger(v.Number()) {
		if n, err := sqltypes.NumericToInt64(v.Number()); err == nil {
			return n, nil
		}
	}
	return 0, invalid("%s needs a whole number", what)
}
