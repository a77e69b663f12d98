package ostraka

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises: every test that docs/promises.md names exists.
func TestPromises(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	eachFile(t, func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = "ostraka"
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				have[dir+"."+f.Name.Name] = true
			}
		}
	})
	named := regexp.MustCompile("`([a-z0-9/]+\\.Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(doc), -1)
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !have[m[1]] {
			t.Errorf("docs/promises.md names %s, which does not exist", m[1])
		}
	}
}
