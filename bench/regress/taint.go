package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"ostraka/planner/parse"
)

// classifier follows one script. What a statement of an unnamed kind made or
// changed is tainted with that kind, and so is every statement that mentions it,
// until something else is made under that name; so is the rest of a transaction
// block in which such a statement stood.
type classifier struct {
	tainted map[string]string // last part of the name → kind
	block   string            // kind of an earlier statement of this transaction block
}

func newClassifier() *classifier { return &classifier{tainted: map[string]string{}} }

func (c *classifier) taint(name, kind string) { c.tainted[name] = kind }

func (c *classifier) replay(list []answer) {
	for i := range list {
		c.classify(&list[i])
	}
}

// classify gives the kind of the next statement of the script, "" for a named one.
func (c *classifier) classify(a *answer) string {
	kind := ""
	list, err := parse.Parse(a.SQL)
	if err == nil {
		for _, s := range list {
			if kind == "" {
				kind = kindOf(s.AST)
			}
			if kind == "" {
				kind = c.mentions(s.AST)
			}
		}
	}
	if kind == "" {
		kind = c.block
	}
	if !a.failed() {
		for _, s := range list {
			c.follow(s.AST, kind)
		}
	}
	switch {
	case !a.inBlock():
		c.block = ""
	case c.block == "" && !a.failed():
		c.block = kind
	}
	return kind
}

// mentions finds a tainted name in a tree: a relation, a function, a type, the
// name of an object, or a string that is such a name.
func (c *classifier) mentions(n *pg.Node) string {
	kind := ""
	see := func(name string) {
		if kind == "" {
			kind = c.tainted[name]
		}
	}
	inspect(n.ProtoReflect(), func(m protoreflect.Message) {
		switch x := m.Interface().(type) {
		case *pg.RangeVar:
			see(x.Relname)
		case *pg.FuncCall:
			see(lastName(x.Funcname))
		case *pg.TypeName:
			see(lastName(x.Names))
		case *pg.A_Expr:
			see(lastName(x.Name))
		case *pg.ObjectWithArgs:
			see(lastName(x.Objname))
		case *pg.DropStmt:
			for _, o := range x.Objects {
				if l := o.GetList(); l != nil {
					see(lastName(l.Items))
				}
			}
		case *pg.CommentStmt:
			if l := x.Object.GetList(); l != nil {
				for _, o := range l.Items {
					see(o.GetString_().GetSval())
				}
			}
		case *pg.A_Const:
			if s := x.GetSval().GetSval(); s != "" {
				s, _, _ = strings.Cut(strings.ToLower(s), "(")
				see(s[strings.LastIndexByte(s, '.')+1:])
			}
		case *pg.ExecuteStmt:
			see("execute " + x.Name)
		case *pg.FetchStmt:
			see("fetch " + x.Portalname)
		}
	})
	return kind
}

// follow notes what a statement that PostgreSQL took has made, changed or dropped.
func (c *classifier) follow(n *pg.Node, kind string) {
	made := func(name string) {
		switch {
		case name == "":
		case kind == "":
			delete(c.tainted, name)
		default:
			c.tainted[name] = kind
		}
	}
	changed := func(r *pg.RangeVar) {
		if kind != "" && r != nil {
			c.tainted[r.Relname] = kind
		}
	}
	inspect(n.ProtoReflect(), func(m protoreflect.Message) {
		switch x := m.Interface().(type) {
		case *pg.CreateStmt:
			made(x.Relation.GetRelname())
		case *pg.IntoClause:
			made(x.Rel.GetRelname())
		case *pg.ViewStmt:
			made(x.View.GetRelname())
		case *pg.IndexStmt:
			made(x.Idxname)
		case *pg.CreateSeqStmt:
			made(x.Sequence.GetRelname())
		case *pg.CreateFunctionStmt:
			made(lastName(x.Funcname))
		case *pg.DefineStmt:
			made(lastName(x.Defnames))
		case *pg.CompositeTypeStmt:
			made(x.Typevar.GetRelname())
		case *pg.CreateEnumStmt:
			made(lastName(x.TypeName))
		case *pg.CreateRangeStmt:
			made(lastName(x.TypeName))
		case *pg.CreateDomainStmt:
			made(lastName(x.Domainname))
		case *pg.RenameStmt:
			if kind != "" {
				made(x.Newname)
			}
		case *pg.PrepareStmt:
			made("execute " + x.Name)
		case *pg.DeclareCursorStmt:
			made("fetch " + x.Portalname)
		case *pg.CreateTrigStmt:
			changed(x.Relation)
		case *pg.RuleStmt:
			changed(x.Relation)
		case *pg.CreatePolicyStmt:
			changed(x.Table)
		case *pg.AlterTableStmt:
			changed(x.Relation)
		case *pg.InsertStmt:
			changed(x.Relation)
		case *pg.UpdateStmt:
			changed(x.Relation)
		case *pg.DeleteStmt:
			changed(x.Relation)
		case *pg.MergeStmt:
			changed(x.Relation)
		case *pg.TruncateStmt:
			for _, r := range x.Relations {
				changed(r.GetRangeVar())
			}
		case *pg.CopyStmt:
			if x.IsFrom {
				changed(x.Relation)
			}
		case *pg.DropStmt:
			for _, o := range x.Objects {
				name := lastName(o.GetList().GetItems())
				if f := o.GetObjectWithArgs(); f != nil {
					name = lastName(f.Objname)
				} else if t := o.GetTypeName(); t != nil {
					name = lastName(t.Names)
				}
				delete(c.tainted, name)
			}
		}
	})
}

// fixture is a script that others build on.
type fixture struct {
	script     string
	statements []answer
}

// fixtures are the scripts whose objects most scripts use.
func fixtures(answers, scripts string) ([]fixture, error) {
	text, err := os.ReadFile(filepath.Join(scripts, "test_setup.sql"))
	if err != nil {
		return nil, err
	}
	setup := fixture{script: "test_setup"}
	for _, s := range strings.Split(metaCommand.ReplaceAllString(string(text), ""), ";\n") {
		setup.statements = append(setup.statements, answer{SQL: psqlVariable.ReplaceAllString(s, "$1'x'")})
	}
	out := []fixture{setup}
	for _, name := range []string{"create_misc", "create_index"} {
		list, err := readAnswers(filepath.Join(answers, "sql", name+".sql.jsonl"))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		out = append(out, fixture{name, list})
	}
	return out, nil
}

var (
	metaCommand  = regexp.MustCompile(`(?m)^\\.*$`)
	psqlVariable = regexp.MustCompile(`([^:]):'?[a-z_]+'?`)
	libraryUse   = regexp.MustCompile(`(?is)create\s+(?:or\s+replace\s+)?function\s+(\w+)\s*\([^;]*?:'regresslib'`)
)

// ownFunctions are the functions of a script that are made from the test suite's
// own library, which a runner leaves out.
func ownFunctions(script string) []string {
	text, err := os.ReadFile(script)
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range libraryUse.FindAllStringSubmatch(string(text), -1) {
		out = append(out, strings.ToLower(m[1]))
	}
	return out
}
