package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// operatorDef is what CREATE OPERATOR says.
type operatorDef struct {
	types                    [2]*pg.TypeName // left, right
	function, restrict, join []string
	commutator, negator      []string
	merges, hashes           bool
}

func invalidOperator(format string, args ...any) error {
	return pgerror.New(pgerror.InvalidFunctionDefinition, format, args...)
}

// createOperator is CREATE OPERATOR (DefineOperator, OperatorCreate).
func (r *run) createOperator(n *pg.DefineStmt) error {
	schemaName, name, err := split(strs(n.Defnames))
	if err != nil {
		return err
	}
	schema, err := r.creationSchema(schemaName, false)
	if err != nil {
		return err
	}
	def, err := r.operatorDefinition(n.Definition)
	if err != nil {
		return err
	}
	o := &catalog.Operator{Name: name, Schema: schema.OID, Owner: r.role(), Merges: def.merges, Hashes: def.hashes}
	switch {
	case def.function == nil:
		return invalidOperator("operator function must be specified")
	case def.types[0] == nil && def.types[1] == nil:
		return invalidOperator("operator argument types must be specified")
	case def.types[1] == nil:
		return pgerror.New(pgerror.InvalidFunctionDefinition, "operator right argument type must be specified").WithDetail("Postfix operators are not supported.")
	}
	var args []sqltypes.OID
	for i, tn := range def.types {
		if tn == nil {
			continue
		}
		t, err := bind.BindTypeName(r.s.PlanContext(), tn)
		if err != nil {
			return err
		}
		if err := r.mayUseType(t.OID); err != nil {
			return err
		}
		args = append(args, t.OID)
		if i == 0 {
			o.Left = t.OID
		} else {
			o.Right = t.OID
		}
	}
	f, err := r.routine(def.function, args)
	if err != nil {
		return err
	}
	if err := r.mayExecute(f); err != nil {
		return err
	}
	if err := r.mayUseType(f.ret); err != nil {
		return err
	}
	o.Proc, o.Result = f.oid, f.ret
	if o.Restrict, err = r.estimator(def.restrict, false); err != nil {
		return err
	}
	if o.Join, err = r.estimator(def.join, true); err != nil {
		return err
	}
	if err := checkOperator(o, def); err != nil {
		return err
	}
	had := r.operatorIn(schema.OID, name, o.Left, o.Right)
	switch {
	case had != nil && had.Proc != 0, schema.OID == catalogSchema && sqltypes.FindOperator(name, o.Left, o.Right) != nil:
		return pgerror.New(pgerror.DuplicateFunction, "operator %s already exists", name)
	case had != nil: // the shell is filled in
		o.OID, o.Commutator, o.Negator = had.OID, had.Commutator, had.Negator
	default:
		if o.OID, err = r.newOID(); err != nil {
			return err
		}
	}
	return r.putWithPartners(o, def)
}

func (r *run) operatorDefinition(list []*pg.Node) (*operatorDef, error) {
	d := &operatorDef{}
	for _, node := range list {
		e := node.GetDefElem()
		switch e.Defname {
		case "leftarg", "rightarg":
			t := e.Arg.GetTypeName()
			if t == nil {
				t = &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode(defText(e))}, Typemod: -1}
			}
			if t.Setof {
				return nil, invalidOperator("SETOF type not allowed for operator argument")
			}
			d.types[map[string]int{"leftarg": 0, "rightarg": 1}[e.Defname]] = t
		case "function", "procedure":
			d.function = strs(nameOf(e))
		case "commutator":
			d.commutator = operatorName(e)
		case "negator":
			d.negator = operatorName(e)
		case "restrict":
			d.restrict = strs(nameOf(e))
		case "join":
			d.join = strs(nameOf(e))
		case "hashes":
			d.hashes = defBool(e)
		case "merges":
			d.merges = defBool(e)
		case "sort1", "sort2", "ltcmp", "gtcmp":
			d.merges = true
		default:
			r.s.Notice("WARNING", pgerror.SyntaxError, sprintf("operator attribute %q not recognized", e.Defname))
		}
	}
	return d, nil
}

// operatorName is a possibly qualified operator in an option.
func operatorName(e *pg.DefElem) []string {
	if l := e.Arg.GetList(); l != nil {
		return strs(l.Items)
	}
	return []string{defText(e)}
}

// estimator finds a selectivity function, which is kept for show. Error: 42883, 42P17.
func (r *run) estimator(name []string, join bool) (sqltypes.OID, error) {
	if name == nil {
		return 0, nil
	}
	args := []sqltypes.OID{sqltypes.OIDInternal, sqltypes.OIDOid, sqltypes.OIDInternal, sqltypes.OIDInt4}
	word := "restriction"
	if join {
		args, word = []sqltypes.OID{sqltypes.OIDInternal, sqltypes.OIDOid, sqltypes.OIDInternal, sqltypes.OIDInt2, sqltypes.OIDInternal}, "join"
	}
	f, err := r.routine(name, args)
	if err != nil {
		return 0, err
	}
	if f.ret != sqltypes.OIDFloat8 {
		return 0, pgerror.New(pgerror.InvalidObjectDefinition, "%s estimator function %s must return type double precision", word, strings.Join(name, "."))
	}
	return f.oid, r.mayExecute(f)
}

// checkOperator refuses properties that an operator of its shape cannot have.
func checkOperator(o *catalog.Operator, d *operatorDef) error {
	if o.Left == 0 {
		switch {
		case d.commutator != nil:
			return invalidOperator("only binary operators can have commutators")
		case o.Join != 0:
			return invalidOperator("only binary operators can have join selectivity")
		case o.Merges:
			return invalidOperator("only binary operators can merge join")
		case o.Hashes:
			return invalidOperator("only binary operators can hash")
		}
	}
	if o.Result != sqltypes.OIDBool {
		switch {
		case d.negator != nil:
			return invalidOperator("only boolean operators can have negators")
		case o.Restrict != 0:
			return invalidOperator("only boolean operators can have restriction selectivity")
		case o.Join != 0:
			return invalidOperator("only boolean operators can have join selectivity")
		case o.Merges:
			return invalidOperator("only boolean operators can merge join")
		case o.Hashes:
			return invalidOperator("only boolean operators can hash")
		}
	}
	return nil
}

// putWithPartners stores an operator and links it with its commutator and negator,
// which are made as shells when they are not there yet.
func (r *run) putWithPartners(o *catalog.Operator, d *operatorDef) error {
	if d.commutator != nil {
		oid, err := r.partner(o, d.commutator, o.Right, o.Left)
		if err != nil {
			return err
		}
		o.Commutator = oid
	}
	if d.negator != nil {
		oid, err := r.partner(o, d.negator, o.Left, o.Right)
		if err != nil {
			return err
		}
		if oid == o.OID {
			return invalidOperator("operator cannot be its own negator")
		}
		o.Negator = oid
	}
	r.schema().PutOperator(o)
	if c := r.catalog().Operator(o.Commutator); c != nil && c.OID != o.OID && c.Commutator == 0 {
		cp := *c
		cp.Commutator = o.OID
		r.schema().PutOperator(&cp)
	}
	if n := r.catalog().Operator(o.Negator); n != nil && n.Negator == 0 {
		cp := *n
		cp.Negator = o.OID
		r.schema().PutOperator(&cp)
	}
	return nil
}

func (r *run) partner(o *catalog.Operator, name []string, left, right sqltypes.OID) (sqltypes.OID, error) {
	schemaName, op, err := split(name)
	if err != nil {
		return 0, err
	}
	if op == o.Name && left == o.Left && right == o.Right && (schemaName == "" || r.catalog().SchemaByName(schemaName) == r.catalog().Schema(o.Schema)) {
		return o.OID, nil
	}
	found, builtin, err := r.findOperator(name, left, right)
	switch {
	case err != nil:
		return 0, err
	case found != nil:
		return found.OID, nil
	case builtin != nil:
		return builtin.OID, nil
	}
	schema, err := r.creationSchema(schemaName, false)
	if err != nil {
		return 0, err
	}
	shell := &catalog.Operator{Name: op, Schema: schema.OID, Owner: r.role(), Left: left, Right: right}
	if shell.OID, err = r.newOID(); err != nil {
		return 0, err
	}
	r.schema().PutOperator(shell)
	return shell.OID, nil
}

func (r *run) operatorIn(schema sqltypes.OID, name string, left, right sqltypes.OID) *catalog.Operator {
	for _, o := range r.catalog().OperatorsByName(name) {
		if o.Schema == schema && o.Left == left && o.Right == right {
			return o
		}
	}
	return nil
}

// findOperator finds the operator of exactly these operand types: a user's or a built-in one.
func (r *run) findOperator(name []string, left, right sqltypes.OID) (*catalog.Operator, *sqltypes.Operator, error) {
	schemaName, op, err := split(name)
	if err != nil {
		return nil, nil, err
	}
	schemas, err := r.searchSchemas(schemaName)
	if err != nil {
		return nil, nil, err
	}
	if schemaName == "" && !slices.Contains(schemas, catalogSchema) {
		schemas = append([]sqltypes.OID{catalogSchema}, schemas...)
	}
	for _, s := range schemas {
		if s == catalogSchema {
			if b := sqltypes.FindOperator(op, left, right); b != nil {
				return nil, b, nil
			}
		}
		if o := r.operatorIn(s, op, left, right); o != nil {
			return o, nil, nil
		}
	}
	return nil, nil, nil
}

// operator resolves name(left, right) in a statement (LookupOperWithArgs).
func (r *run) operator(n *pg.ObjectWithArgs) (*catalog.Operator, *sqltypes.Operator, error) {
	var types [2]sqltypes.OID
	for i, a := range n.Objargs {
		if a.GetTypeName() == nil {
			continue
		}
		t, err := bind.BindTypeName(r.s.PlanContext(), a.GetTypeName())
		if err != nil {
			return nil, nil, err
		}
		types[i] = t.OID
	}
	if types[1] == 0 {
		return nil, nil, pgerror.New(pgerror.SyntaxError, "postfix operators are not supported")
	}
	o, b, err := r.findOperator(strs(n.Objname), types[0], types[1])
	if err == nil && o == nil && b == nil {
		left := ""
		if types[0] != 0 {
			left = r.typeName(types[0]) + " "
		}
		err = pgerror.New(pgerror.UndefinedFunction, "operator does not exist: %s%s %s", left, strings.Join(strs(n.Objname), "."), r.typeName(types[1]))
	}
	return o, b, err
}

// ownOperator is operator for one that the current role may change.
func (r *run) ownOperator(n *pg.ObjectWithArgs) (*catalog.Operator, error) {
	o, b, err := r.operator(n)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if !r.isSuper() {
			return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of operator %s", b.Name)
		}
		return nil, pgerror.NotSupported("changing a built-in operator")
	}
	if !r.hasRole(o.Owner) {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of operator %s", strings.Join(strs(n.Objname), "."))
	}
	return o, nil
}

// operatorText is name(left,right) for messages.
func (r *run) operatorText(o *catalog.Operator) string {
	left := "NONE"
	if o.Left != 0 {
		left = r.typeName(o.Left)
	}
	return o.Name + "(" + left + "," + r.typeName(o.Right) + ")"
}

// alterOperator is ALTER OPERATOR … SET (RESTRICT = …, JOIN = …).
func (r *run) alterOperator(n *pg.AlterOperatorStmt) error {
	o, b, err := r.operator(n.Opername)
	if err != nil {
		return err
	}
	restrict, join := []string(nil), []string(nil)
	var setRestrict, setJoin bool
	for _, node := range n.Options {
		e := node.GetDefElem()
		var name []string
		if e.Arg != nil {
			name = strs(nameOf(e))
		}
		switch e.Defname {
		case "restrict":
			restrict, setRestrict = name, true
		case "join":
			join, setJoin = name, true
		case "leftarg", "rightarg", "function", "procedure", "commutator", "negator", "hashes", "merges":
			return pgerror.New(pgerror.SyntaxError, "operator attribute %q cannot be changed", e.Defname)
		default:
			return pgerror.New(pgerror.SyntaxError, "operator attribute %q not recognized", e.Defname)
		}
	}
	if b != nil {
		_, err = r.ownOperator(n.Opername)
		return err
	}
	if !r.hasRole(o.Owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of operator %s", o.Name)
	}
	cp := *o
	if setRestrict {
		if cp.Restrict, err = r.estimator(restrict, false); err != nil {
			return err
		}
	}
	if setJoin {
		if cp.Join, err = r.estimator(join, true); err != nil {
			return err
		}
	}
	if err := checkOperator(&cp, &operatorDef{}); err != nil {
		return err
	}
	r.schema().PutOperator(&cp)
	return nil
}

func (r *run) dropOperators(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		o, b, err := r.operator(obj.GetObjectWithArgs())
		if err != nil {
			if e, ok := err.(*pgerror.Error); ok && n.MissingOk && missingObject(e) {
				r.notice("%s, skipping", missingWords("operator", strings.Join(strs(obj.GetObjectWithArgs().Objname), "."), e))
				continue
			}
			return err
		}
		if b != nil {
			return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop operator %s because it is required by the database system",
				r.operatorText(&catalog.Operator{Name: b.Name, Left: b.Left, Right: b.Right}))
		}
		if !r.hasRole(o.Owner) {
			return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of operator %s", strings.Join(strs(obj.GetObjectWithArgs().Objname), "."))
		}
		r.removeOperator(o)
	}
	return nil
}

// removeOperator drops an operator and the links to it.
func (r *run) removeOperator(o *catalog.Operator) {
	var linked []*catalog.Operator
	r.catalog().AllOperators(func(p *catalog.Operator) bool {
		if p.OID != o.OID && (p.Commutator == o.OID || p.Negator == o.OID) {
			linked = append(linked, p)
		}
		return true
	})
	for _, p := range linked {
		cp := *p
		if cp.Commutator == o.OID {
			cp.Commutator = 0
		}
		if cp.Negator == o.OID {
			cp.Negator = 0
		}
		r.schema().PutOperator(&cp)
	}
	r.schema().DropOperator(o.OID)
}

func (r *run) commentOperator(n *pg.CommentStmt) error {
	o, err := r.ownOperator(n.Object.GetObjectWithArgs())
	if err != nil {
		return err
	}
	cp := *o
	cp.Comment = n.Comment
	r.schema().PutOperator(&cp)
	return nil
}

// missingObject: the object of a DROP IF EXISTS, its schema or a type in its name is not there.
func missingObject(e *pgerror.Error) bool {
	switch e.Code {
	case pgerror.UndefinedFunction, pgerror.InvalidSchemaName, pgerror.UndefinedObject:
		return true
	}
	return false
}

// missingWords is the notice of DROP IF EXISTS: what is missing is named as itself.
func missingWords(word, name string, e *pgerror.Error) string {
	if e.Code == pgerror.UndefinedFunction {
		return sprintf("%s %s does not exist", word, name)
	}
	return e.Message
}
