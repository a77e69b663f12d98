package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// candidates is FuncnameGetCandidates: the functions a name can mean for that
// many arguments, the last len(names) of them in named notation.
func (b *binder) candidates(name []*pg.Node, nargs int, names []string, expandVariadic, expandDefaults bool, loc int32) []*candidate {
	fn := strOf(name[len(name)-1])
	schema := sqltypes.OID(0)
	if len(name) > 1 {
		if len(name) == 3 {
			b.checkCatalogName(strOf(name[0]), fieldsString(name), loc)
		} else if len(name) > 3 {
			b.fail(loc, pgerror.SyntaxError, "improper qualified name (too many dotted names): %s", fieldsString(name))
		}
		sn := strOf(name[len(name)-2])
		if schema = b.schemaOID(sn); schema == 0 {
			b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, sn)
		}
	}
	var out []*candidate
	add := func(p *sqltypes.Proc, pos int) {
		if b.outArgs {
			p = withOutArgs(p)
		}
		if c := fit(p, nargs, names, expandVariadic, expandDefaults); c != nil {
			c.pathPos = pos
			out = mergeCandidate(out, c)
		}
	}
	for _, p := range sqltypes.ProcsByName(fn) {
		if schema != 0 {
			if p.Namespace == schema {
				add(p, 0)
			}
			continue
		}
		if pos := b.pathPos(p.Namespace); pos >= 0 {
			add(p, pos)
		}
	}
	if b.cat != nil {
		if schema != 0 {
			for _, f := range b.cat.FunctionsByName(schema, fn) {
				add(b.userProc(f), 0)
			}
		} else {
			for i, s := range b.ctx.SearchPath {
				if s == b.ctx.TempSchema {
					continue
				}
				for _, f := range b.cat.FunctionsByName(s, fn) {
					add(b.userProc(f), i+1)
				}
			}
		}
	}
	return out
}

// pathPos is a schema's place in the search path, -1 when it is not in it.
func (b *binder) pathPos(ns sqltypes.OID) int {
	for i, s := range b.ctx.SearchPath {
		if s == ns {
			return i + 1
		}
	}
	if ns == sqltypes.NamespaceCatalog {
		return 0
	}
	return -1
}

// fit matches a function's parameters with the arguments given; nil if it cannot.
func fit(p *sqltypes.Proc, nargs int, names []string, expandVariadic, expandDefaults bool) *candidate {
	want := len(p.ArgTypes)
	if len(names) > 0 {
		// Named notation never matches an expanded VARIADIC.
		if p.Variadic != 0 && expandVariadic {
			return nil
		}
		return fitNamed(p, nargs, names, expandDefaults)
	}
	c := &candidate{proc: p}
	if p.Variadic != 0 && expandVariadic && nargs >= want {
		c.args = append(make([]sqltypes.OID, 0, nargs), p.ArgTypes[:want-1]...)
		for len(c.args) < nargs {
			c.args = append(c.args, p.Variadic)
		}
		c.variadic = nargs - want + 1
		return c
	}
	if nargs > want {
		return nil
	}
	if nargs < want {
		if !expandDefaults || nargs+p.NumDefaults < want {
			return nil
		}
		c.defaults = want - nargs
	}
	c.args = p.ArgTypes
	return c
}

// inputNames are the names of the input parameters.
func inputNames(p *sqltypes.Proc) []string {
	if p.ArgNames == nil {
		return nil
	}
	if p.ArgModes == nil {
		return p.ArgNames
	}
	var out []string
	for i, m := range p.ArgModes {
		if m == 'i' || m == 'b' || m == 'v' {
			out = append(out, p.ArgNames[i])
		}
	}
	return out
}

// fitNamed is MatchNamedCall.
func fitNamed(p *sqltypes.Proc, nargs int, names []string, defaults bool) *candidate {
	want := len(p.ArgTypes)
	in := inputNames(p)
	if in == nil || nargs > want {
		return nil
	}
	positional := nargs - len(names)
	used := make([]bool, want)
	c := &candidate{proc: p, argnums: make([]int, 0, want)}
	for i := 0; i < positional; i++ {
		used[i] = true
		c.argnums = append(c.argnums, i)
	}
	for _, n := range names {
		at := -1
		for j, pn := range in {
			if pn == n && j < want {
				at = j
				break
			}
		}
		if at < 0 || used[at] {
			return nil
		}
		used[at] = true
		c.argnums = append(c.argnums, at)
	}
	if nargs < want {
		if !defaults {
			return nil
		}
		first := want - p.NumDefaults
		for i, u := range used {
			if u {
				continue
			}
			if i < first {
				return nil
			}
			c.argnums = append(c.argnums, i)
			c.defaults++
		}
	}
	for _, n := range c.argnums {
		c.args = append(c.args, p.ArgTypes[n])
	}
	return c
}

// mergeCandidate drops what a search path hides: a function of the same argument
// types further back, or, in one schema, the variadic or defaulted of two.
func mergeCandidate(list []*candidate, c *candidate) []*candidate {
	if c.defaults == 0 && c.variadic == 0 && len(list) == 0 {
		return append(list, c)
	}
	n := len(c.args) - c.defaults
	for i, o := range list {
		if len(o.args)-o.defaults != n || !sameTypes(o.args[:n], c.args[:n]) {
			continue
		}
		switch {
		case o.pathPos < c.pathPos:
			return list
		case o.pathPos > c.pathPos:
			list[i] = c
			return list
		case o.variadic == 0 && c.variadic > 0:
			return list
		case o.variadic > 0 && c.variadic == 0:
			list[i] = c
			return list
		}
		// Neither is better: choosing this candidate is an error.
		o.ambiguous = true
		return list
	}
	return append(list, c)
}

func sameTypes(a, b []sqltypes.OID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// userProc presents a user function as a Proc. Its implementation is the
// executor's affair (Lang 14, Src the body).
func (b *binder) userProc(f *catalog.Function) *sqltypes.Proc {
	p := &sqltypes.Proc{
		OID: f.OID, Name: f.Name, Namespace: f.Schema, Kind: f.Kind, Strict: f.Strict, RetSet: f.RetSet,
		Volatility: f.Volatility, RetType: f.RetType, Src: f.Body, Cost: f.Cost, Rows: f.Rows, Lang: 14,
		ArgNames: f.ArgNames, Defaults: f.ArgDefaults, NumDefaults: len(f.ArgDefaults),
		Writes: f.Volatility == sqltypes.Volatile || f.Volatility == 0,
	}
	if p.Kind == 0 {
		p.Kind = 'f'
	}
	if f.RetSet {
		p.Set = sqltypes.UserSetFunction
	} else {
		p.Fn = sqltypes.UserFunction
	}
	switch {
	case f.Agg != nil:
		p.Fn, p.Set, p.Writes = nil, nil, false
		p.Agg = b.userAggregate(f.Agg)
	case f.Language == "plpgsql":
		p.Lang = sqltypes.LangPLpgSQL
	case f.Language == "internal":
		// Another name for a built-in function.
		p.Lang, p.Writes = 12, false
		if o := sqltypes.ProcBySource(f.Body); o != nil {
			p.Fn, p.Set, p.Writes, p.Node = o.Fn, o.Set, o.Writes, o.Node
		}
	}
	named := false
	for _, n := range f.ArgNames {
		named = named || n != ""
	}
	if !named {
		p.ArgNames = nil
	}
	for i, a := range f.ArgTypes {
		mode := byte('i')
		if i < len(f.ArgModes) {
			mode = f.ArgModes[i]
		}
		p.AllArgTypes = append(p.AllArgTypes, a.OID)
		p.ArgModes = append(p.ArgModes, mode)
		switch mode {
		case 'i', 'b':
			p.ArgTypes = append(p.ArgTypes, a.OID)
		case 'v':
			p.ArgTypes = append(p.ArgTypes, a.OID)
			switch a.OID {
			case sqltypes.OIDAny:
				p.Variadic = a.OID
			case sqltypes.OIDAnyarray:
				p.Variadic = sqltypes.OIDAnyelement
			case sqltypes.OIDAnycompatiblearray:
				p.Variadic = sqltypes.OIDAnycompatible
			default:
				p.Variadic = b.elemType(a.OID)
			}
		}
	}
	return p
}

// funcSignature is func_signature_string: "f(integer, a => text)".
func (b *binder) funcSignature(name []*pg.Node, names []string, types []sqltypes.OID) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = b.typeName(t)
		if k := i - (len(types) - len(names)); k >= 0 {
			parts[i] = names[k] + " => " + parts[i]
		}
	}
	return fieldsString(name) + "(" + strings.Join(parts, ", ") + ")"
}

type funcKind byte

const (
	funcNotFound funcKind = iota
	funcMultiple
	funcNormal
	funcProcedure
	funcAggregate
	funcWindow
	funcCoercion
)

// funcDetail is func_get_detail.
func (b *binder) funcDetail(name []*pg.Node, args []sqltypes.OID, firstArg argInfo, names []string, variadic bool, expandDefaults bool, loc int32) (funcKind, *candidate) {
	cands := b.candidates(name, len(args), names, !variadic, expandDefaults, loc)
	var best *candidate
	for _, c := range cands {
		if sameTypes(c.args[:len(args)], args) {
			if best == nil {
				best = c
			}
		}
	}
	if best == nil {
		if len(args) == 1 && len(names) == 0 && !variadic {
			if t := b.castFunction(name, args[0], firstArg); t != 0 {
				return funcCoercion, &candidate{args: []sqltypes.OID{t}}
			}
		}
		if len(cands) > 0 {
			match := b.matchTypes(args, cands)
			switch {
			case len(match) == 1:
				best = match[0]
			case len(match) > 1:
				if best = b.selectCandidate(args, match); best == nil {
					return funcMultiple, nil
				}
			}
		}
	}
	if best == nil {
		return funcNotFound, nil
	}
	if best.ambiguous {
		return funcMultiple, nil
	}
	switch best.proc.Kind {
	case 'a':
		return funcAggregate, best
	case 'p':
		return funcProcedure, best
	case 'w':
		return funcWindow, best
	}
	return funcNormal, best
}

// argInfo is what castFunction must know of the argument.
type argInfo struct{ unknownConst bool }

// castFunction: a call of one argument by the name of a type is a cast, if it is
// one that functions are used for: of a literal, or between binary-compatible types, or by text.
func (b *binder) castFunction(name []*pg.Node, src sqltypes.OID, arg argInfo) sqltypes.OID {
	var t *sqltypes.Type
	switch len(name) {
	case 1:
		t = b.typeByName(strOf(name[0]))
	case 2:
		if ns := b.schemaOID(strOf(name[0])); ns != 0 {
			t = b.typeInSchema(ns, strOf(name[1]))
		}
	}
	if t == nil || t.TypType == 'p' {
		return 0
	}
	if isUnknown(src) && arg.unknownConst {
		return t.OID
	}
	if isUnknown(src) {
		return 0
	}
	switch k, _ := b.pathway(t.OID, src, explicit); k {
	case pathRelabel:
		return t.OID
	case pathIO:
		if (src == sqltypes.OIDRecord || b.isComplex(src)) && t.Category == 'S' {
			return 0
		}
		return t.OID
	}
	return 0
}
