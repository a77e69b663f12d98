package node

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsTour: what docs/documents.md shows can be pasted as it stands.
func TestDocumentsTour(t *testing.T) {
	text, err := os.ReadFile("../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, freshDemo(t, 1).Nodes[0])
	vars := map[string]string{}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		stmt := ""
		for _, line := range strings.SplitAfter(block[1], "\n") {
			stmt += line
			end := strings.TrimRight(regexp.MustCompile(`--.*`).ReplaceAllString(line, ""), " \n")
			set := strings.HasSuffix(end, `\gset`)
			if !set && !strings.HasSuffix(end, ";") {
				continue
			}
			for k, v := range vars {
				stmt = strings.ReplaceAll(stmt, ":'"+k+"'", "'"+v+"'")
			}
			n++
			if set { // of one column
				res, err := c.again(strings.ReplaceAll(stmt, `\gset`, ""))
				if err != nil {
					t.Fatalf("%s: %v", stmt, err)
				}
				r := res[len(res)-1]
				vars[r.FieldDescriptions[0].Name] = string(r.Rows[0][0])
			} else {
				c.do(stmt)
			}
			stmt = ""
		}
		if strings.TrimSpace(stmt) != "" {
			t.Errorf("a block does not end with a statement: %s", stmt)
		}
	}
	if n < 40 {
		t.Errorf("%d statements", n)
	}
}
