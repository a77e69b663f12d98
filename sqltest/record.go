package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// RecordFile runs a file against a server that is known to be right and writes
// what it answered into the file as the expectations: results of queries, and
// "statement error SQLSTATE" where a statement fails. Files with loops cannot be
// recorded (their bodies stand for several results).
func RecordFile(ctx context.Context, f *File, o Options) error {
	for _, l := range f.Lines {
		if w := strings.Fields(l); len(w) > 0 && (w[0] == "loop" || w[0] == "foreach") {
			return fmt.Errorf("%s: files with loops cannot be recorded", f.Path)
		}
	}
	f.Exact = true
	r, err := newRunner(ctx, f, o)
	if err != nil {
		return err
	}
	defer r.close()
	if len(f.Lines) == 0 || strings.TrimSpace(f.Lines[0]) != "# results: exact" {
		return fmt.Errorf("%s: the first line must be \"# results: exact\"", f.Path)
	}
	var out []string
	next := 0 // first line not yet copied
	for i := range f.Records {
		rec := &f.Records[i]
		if r.skip(rec) || rec.Kind == Halt || rec.Kind == HashThreshold {
			continue
		}
		res, err := r.exec(ctx, rec)
		var se *ServerError
		if err != nil && !errors.As(err, &se) {
			return fmt.Errorf("%s:%d: %w", f.Path, rec.Line, err)
		}
		out = append(out, f.Lines[next:rec.Line-1]...)
		body := strings.Split(rec.SQL, "\n")
		switch {
		case err != nil:
			out = append(out, "statement error "+se.Code)
			out = append(out, body...)
		case res.Cols == 0:
			out = append(out, "statement ok")
			out = append(out, body...)
		default:
			types := rec.Types
			if len(types) != res.Cols {
				types = strings.Repeat("T", res.Cols)
			}
			mode := [...]string{"nosort", "rowsort", "valuesort"}[rec.Sort]
			out = append(out, strings.TrimSpace("query "+types+" "+mode+" "+rec.Label))
			out = append(out, body...)
			out = append(out, "----")
			rec.Types = types
			lines, _ := r.format(rec, res)
			out = append(out, lines...)
		}
		next = rec.Line + len(body)
		for next < len(f.Lines) && f.Lines[next] != "" {
			next++ // the old expectations
		}
	}
	out = append(out, f.Lines[next:]...)
	return os.WriteFile(f.Path, []byte(strings.Join(out, "\n")+"\n"), 0o644)
}
