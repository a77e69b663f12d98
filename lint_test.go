package ostraka

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rooms are the layers from the top down: a package may import packages of its
// own room and of rooms below, never of one above. Rooms in one row do not
// import each other.
var rooms = [][]string{
	{"cmd"},
	{"torture"},
	{"node", "router"},
	{"pgfront"},
	{"shardrouter"},
	{"docstore", "tsdb", "peer"},
	{"exec"},
	{"plpgsql"},
	{"planner"},
	{"raft", "objectlog"}, // see onlyInterface
	{"engine"},
	{"expr"},
	{"sqltypes"},
}

// owners says which rooms may import an outside package, and why only those.
var owners = []struct {
	path    string
	allowed []string
	reason  string
}{
	{"github.com/hashicorp/raft", []string{"raft"}, "the commit log hides which consensus library it uses"},
	{"github.com/cockroachdb/pebble/v2", []string{"engine/storage", "engine/shard", "raft", "tsdb", "objectlog", "torture/disk"}, "storage formats are known in one place each"},
	{"github.com/jeroenrinzema/psql-wire", []string{"pgfront"}, "only the front end knows the listener"},
	{"github.com/jackc/pgx/v5/pgproto3", []string{"pgfront", "peer"}, "only the front end and peers know protocol messages"},
	{"github.com/pganalyze/pg_query_go/v5", []string{"planner", "exec/ddl", "pgfront", "node", "router"}, "syntax trees end where execution begins"},
	{"github.com/prometheus/client_golang", []string{"node"}, "metrics are exposed by the node"},
	{"github.com/prometheus/prometheus", []string{"tsdb/prom", "tsdb/protocol", "node"}, "a library without promises about its API has few users"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line is cmd's"},
}

func TestImports(t *testing.T) {
	rank := map[string]int{}
	for i, row := range rooms {
		for _, r := range row {
			rank[r] = i
		}
	}
	eachFile(t, func(path string, f *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		room, _, _ := strings.Cut(dir, "/")
		if strings.HasSuffix(path, "_test.go") || room == "." || room == "sqltest" || room == "bench" || strings.Contains(dir, "/internal/gen") {
			return
		}
		from, known := rank[room]
		if !known {
			t.Errorf("%s: room %q is not in the plan (docs/ARCHITECTURE.md)", path, room)
			return
		}
		for _, im := range f.Imports {
			imp, _ := strconv.Unquote(im.Path.Value)
			checkOwner(t, path, dir, imp)
			rest, ours := strings.CutPrefix(imp, "ostraka/")
			if !ours {
				continue
			}
			to, _, _ := strings.Cut(rest, "/")
			switch {
			case to == room:
			case (room == "raft" || room == "objectlog") && rest != "engine/commitlog":
				t.Errorf("%s imports %s: a commit log knows of the engine only the interface engine/commitlog", path, imp)
			case room == "cmd" && to == "sqltest":
			case (to == "raft" || to == "objectlog") && room != "node":
				t.Errorf("%s imports %s: only node wires a commit log in", path, imp)
			case rank[to] <= from:
				t.Errorf("%s imports %s: imports run downwards (docs/ARCHITECTURE.md)", path, imp)
			}
		}
	})
}

func checkOwner(t *testing.T, path, dir, imp string) {
	t.Helper()
	for _, o := range owners {
		if imp != o.path && !strings.HasPrefix(imp, o.path+"/") {
			continue
		}
		ok := false
		for _, a := range o.allowed {
			ok = ok || dir == a || strings.HasPrefix(dir, a+"/")
		}
		if !ok {
			t.Errorf("%s imports %s: %s", path, imp, o.reason)
		}
	}
}

// TestPackageDocs wants a doc comment in every package.
func TestPackageDocs(t *testing.T) {
	has := map[string]bool{}
	eachFile(t, func(path string, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := filepath.Dir(path)
		has[dir] = has[dir] || f.Doc != nil
	})
	for dir, ok := range has {
		if !ok {
			t.Errorf("package in %s has no doc comment", dir)
		}
	}
}

// TestReplicatedPathIsDeterministic forbids clocks and randomness where effects are applied.
func TestReplicatedPathIsDeterministic(t *testing.T) {
	forbidden := map[string]bool{"time.Now": true, "rand.Int": true, "rand.Uint64": true, "rand.Float64": true}
	eachFile(t, func(path string, f *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir != "engine/effects" && dir != "engine/storage" && dir != "engine/catalog" || strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && forbidden[x.Name+"."+s.Sel.Name] {
					t.Errorf("%s: %s.%s: what is replicated must not depend on this node's clock or chance", path, x.Name, s.Sel.Name)
				}
			}
			return true
		})
	})
}

// TestNoSleepInTests: a test waits for a condition, not for a time.
func TestNoSleepInTests(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && s.Sel.Name == "Sleep" {
					t.Logf("%s uses time.Sleep", path)
				}
			}
			return true
		})
	})
}

func eachFile(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
