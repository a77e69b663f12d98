package sqltypes

import (
	"strconv"
	"sync"
)

// Access methods (pg_am).
const (
	AMHeap   OID = 2
	AMBtree  OID = 403
	AMHash   OID = 405
	AMGist   OID = 783
	AMGin    OID = 2742
	AMSpgist OID = 4000
	AMBrin   OID = 3580
)

// Strategy numbers of btree operator families.
const (
	BtreeLess         = 1
	BtreeLessEqual    = 2
	BtreeEqual        = 3
	BtreeGreaterEqual = 4
	BtreeGreater      = 5
)

type (
	// OpFamily is a row of pg_opfamily.
	OpFamily struct {
		OID, Method OID
		Name        string
	}
	// OpClass is a row of pg_opclass.
	OpClass struct {
		OID, Method    OID
		Name           string
		Family, InType OID
		Default        bool
		KeyType        OID
	}
	// AmOp is a row of pg_amop: an operator's place in a family.
	AmOp struct {
		OID, Family, Left, Right OID
		Strategy                 int
		Purpose                  byte // s search, o ordering
		Operator, Method         OID
		SortFamily               OID
	}
	// AmProc is a row of pg_amproc: a support function of a family (btree 1: compare, hash 1: hash).
	AmProc struct {
		OID, Family, Left, Right OID
		Num                      int
		Proc                     OID
	}
)

type familyKey struct {
	family, left, right OID
	number              int
}

var opclasses struct {
	once     sync.Once
	families []*OpFamily
	classes  []*OpClass
	byOID    map[OID]*OpClass
	amops    []*AmOp
	amprocs  []*AmProc
	defaults map[[2]OID]*OpClass // method, input type
	members  map[familyKey]OID
	support  map[familyKey]OID
	byOp     map[OID][]*AmOp
}

// AllOpFamilies, AllOpClasses, AllAmOps and AllAmProcs are the catalogue rows; the slices are shared.
func AllOpFamilies() []*OpFamily { loadOpClasses(); return opclasses.families }
func AllOpClasses() []*OpClass   { loadOpClasses(); return opclasses.classes }
func AllAmOps() []*AmOp          { loadOpClasses(); return opclasses.amops }
func AllAmProcs() []*AmProc      { loadOpClasses(); return opclasses.amprocs }

// OpClassByOID returns an operator class, or nil.
func OpClassByOID(oid OID) *OpClass { loadOpClasses(); return opclasses.byOID[oid] }

// OpClassByName returns the class of an access method with that name
// ("text_pattern_ops"), or nil.
func OpClassByName(method OID, name string) *OpClass {
	loadOpClasses()
	for _, c := range opclasses.classes {
		if c.Method == method && c.Name == name {
			return c
		}
	}
	return nil
}

// FamilyOperator returns the operator of a family with these operand types and
// strategy, or nil.
func FamilyOperator(family, left, right OID, strategy int) *Operator {
	loadOpClasses()
	return OperatorByOID(opclasses.members[familyKey{family, left, right, strategy}])
}

// FamilyProc returns the support function of a family (btree 1 compares, hash 1
// hashes), or nil.
func FamilyProc(family, left, right OID, num int) *Proc {
	loadOpClasses()
	return ProcByOID(opclasses.support[familyKey{family, left, right, num}])
}

// OperatorFamilies returns an operator's places in families of any method.
func OperatorFamilies(op OID) []*AmOp {
	loadOpClasses()
	return opclasses.byOp[op]
}

// DefaultOpClass is the class an access method uses for a built-in type when
// none is named: the one made for the type, else one made for a type it is
// binary-coercible to (varchar → text, arrays → anyarray …), or nil.
func DefaultOpClass(method, typ OID) *OpClass {
	loadOpClasses()
	if c := opclasses.defaults[[2]OID{method, typ}]; c != nil {
		return c
	}
	if t := TypeByOID(typ); t != nil {
		if general := generalType(t); general != 0 {
			return opclasses.defaults[[2]OID{method, general}]
		}
	}
	var found *OpClass
	for _, c := range AllCasts() {
		if c.Source != typ || c.Method != 'b' || c.Context != 'i' {
			continue
		}
		class := opclasses.defaults[[2]OID{method, c.Target}]
		if class == nil {
			continue
		}
		if found == nil || preferredClassTypes[c.Target] {
			found = class
		}
	}
	return found
}

// DefaultOpClassOf is DefaultOpClass for any type; of a domain pass the base type.
func DefaultOpClassOf(method OID, t *Type) *OpClass {
	if c := DefaultOpClass(method, t.OID); c != nil {
		return c
	}
	if general := generalType(t); general != 0 {
		return DefaultOpClass(method, general)
	}
	return nil
}

// preferredClassTypes are the preferred types that others are binary-coercible to.
var preferredClassTypes = map[OID]bool{25: true, 26: true, 869: true, 1562: true}

// SortOperators returns what ORDER BY, GROUP BY and DISTINCT use for a built-in
// type: the operators of its default btree class. For a user-defined type call
// SortOperatorsOf.
func SortOperators(typ OID) (lt, eq, gt *Operator, ok bool) {
	return classOperators(DefaultOpClass(AMBtree, typ))
}

// SortOperatorsOf is SortOperators for any type; of a domain pass the base type.
func SortOperatorsOf(t *Type) (lt, eq, gt *Operator, ok bool) {
	if general := generalType(t); general != 0 {
		return classOperators(DefaultOpClass(AMBtree, general))
	}
	return SortOperators(t.OID)
}

func classOperators(c *OpClass) (lt, eq, gt *Operator, ok bool) {
	if c == nil {
		return nil, nil, nil, false
	}
	lt = FamilyOperator(c.Family, c.InType, c.InType, BtreeLess)
	eq = FamilyOperator(c.Family, c.InType, c.InType, BtreeEqual)
	gt = FamilyOperator(c.Family, c.InType, c.InType, BtreeGreater)
	return lt, eq, gt, lt != nil && eq != nil && gt != nil
}

// generalType is the pseudo-type whose operator classes serve t, or 0.
func generalType(t *Type) OID {
	switch {
	case t.IsArray:
		return 2277 // anyarray
	case t.TypType == 'e':
		return 3500 // anyenum
	case t.TypType == 'r':
		return 3831 // anyrange
	case t.TypType == 'm':
		return 4537 // anymultirange
	case t.TypType == 'c':
		return 2249 // record
	}
	return 0
}

func loadOpClasses() {
	o := &opclasses
	o.once.Do(func() {
		o.byOID = map[OID]*OpClass{}
		o.defaults = map[[2]OID]*OpClass{}
		o.members = make(map[familyKey]OID, 1000)
		o.support = make(map[familyKey]OID, 700)
		o.byOp = make(map[OID][]*AmOp, 800)
		eachFact(opfamilyFacts, func(l *factLine) {
			o.families = append(o.families, &OpFamily{OID: l.oid(), Method: l.oid(), Name: l.str()})
		})
		eachFact(opclassFacts, func(l *factLine) {
			c := &OpClass{OID: l.oid(), Method: l.oid(), Name: l.str(), Family: l.oid(), InType: l.oid(), Default: l.str() == "1", KeyType: l.oid()}
			o.classes = append(o.classes, c)
			o.byOID[c.OID] = c
			if c.Default {
				o.defaults[[2]OID{c.Method, c.InType}] = c
			}
		})
		eachFact(amopFacts, func(l *factLine) {
			a := &AmOp{OID: l.oid(), Family: l.oid(), Left: l.oid(), Right: l.oid()}
			a.Strategy, _ = strconv.Atoi(l.str())
			a.Purpose = l.str()[0]
			a.Operator, a.Method, a.SortFamily = l.oid(), l.oid(), l.oid()
			o.amops = append(o.amops, a)
			o.byOp[a.Operator] = append(o.byOp[a.Operator], a)
			if a.Purpose == 's' {
				o.members[familyKey{a.Family, a.Left, a.Right, a.Strategy}] = a.Operator
			}
		})
		eachFact(amprocFacts, func(l *factLine) {
			a := &AmProc{OID: l.oid(), Family: l.oid(), Left: l.oid(), Right: l.oid()}
			a.Num, _ = strconv.Atoi(l.str())
			a.Proc = l.oid()
			o.amprocs = append(o.amprocs, a)
			o.support[familyKey{a.Family, a.Left, a.Right, a.Num}] = a.Proc
		})
	})
}
