package sqltest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options of a run.
type Options struct {
	DSN    string
	Driver Driver
	// Label is what skipif and onlyif compare with: "postgresql" by default.
	Label string
	// Timeout per record; 60 s by default.
	Timeout time.Duration
	// StopAtFirst ends the file at the first failure.
	StopAtFirst bool
}

// Failure is one record that did not do what was expected.
type Failure struct {
	Path string
	Line int
	SQL  string
	What string
}

func (f Failure) String() string {
	return fmt.Sprintf("%s:%d: %s\n    %s", f.Path, f.Line, f.What, strings.ReplaceAll(f.SQL, "\n", "\n    "))
}

// Report counts a file's records.
type Report struct {
	Passed, Failed, Skipped int
	Failures                []Failure
}

// Run executes a file on fresh sessions. The error is for what is no record's
// fault: the server cannot be reached.
func Run(ctx context.Context, f *File, o Options) (*Report, error) {
	r, err := newRunner(ctx, f, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	for i := range f.Records {
		rec := &f.Records[i]
		if r.skip(rec) {
			r.report.Skipped++
			continue
		}
		if rec.Kind == Halt {
			break
		}
		what := r.record(ctx, rec)
		if what == "" {
			r.report.Passed++
			continue
		}
		r.report.Failed++
		r.report.Failures = append(r.report.Failures, Failure{f.Path, rec.Line, rec.SQL, what})
		if o.StopAtFirst || ctx.Err() != nil {
			break
		}
	}
	return &r.report, nil
}

type runner struct {
	file      *File
	opts      Options
	sessions  map[string]Conn
	report    Report
	threshold int
	labels    map[string]string // label → hash of the result it stands for
}

func newRunner(ctx context.Context, f *File, o Options) (*runner, error) {
	if o.Label == "" {
		o.Label = "postgresql"
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	r := &runner{file: f, opts: o, sessions: map[string]Conn{}, labels: map[string]string{}}
	if _, err := r.session(ctx, ""); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", o.DSN, err)
	}
	return r, nil
}

func (r *runner) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, c := range r.sessions {
		c.Close(ctx)
	}
}

func (r *runner) session(ctx context.Context, name string) (Conn, error) {
	if c := r.sessions[name]; c != nil {
		return c, nil
	}
	c, err := r.opts.Driver.Open(ctx, r.opts.DSN)
	if err == nil {
		r.sessions[name] = c
	}
	return c, err
}

func (r *runner) skip(rec *Record) bool {
	for _, c := range rec.Conds {
		if c.Only != (c.Label == r.opts.Label) {
			return true
		}
	}
	return false
}

// record runs one record and returns "" or what was wrong.
func (r *runner) record(ctx context.Context, rec *Record) string {
	if rec.Kind == HashThreshold {
		n, err := strconv.Atoi(rec.Arg)
		if err != nil {
			return "bad hash-threshold " + rec.Arg
		}
		r.threshold = n
		return ""
	}
	res, err := r.exec(ctx, rec)
	if rec.ExpectError {
		return checkError(rec, err)
	}
	if err != nil {
		return err.Error()
	}
	if rec.Kind == Statement {
		return ""
	}
	return r.compare(rec, res)
}

func (r *runner) exec(ctx context.Context, rec *Record) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	c, err := r.session(ctx, rec.Session)
	if err != nil {
		return nil, err
	}
	res, err := c.Run(ctx, rec.SQL)
	var se *ServerError
	if err != nil && !errors.As(err, &se) {
		c.Close(ctx)
		delete(r.sessions, rec.Session) // the next record gets a new one
	}
	return res, err
}

func checkError(rec *Record, err error) string {
	var se *ServerError
	switch {
	case err == nil:
		return "succeeded, expected an error"
	case !errors.As(err, &se):
		return err.Error()
	case rec.Code != "" && se.Code != rec.Code:
		return fmt.Sprintf("got %v, expected SQLSTATE %s", err, rec.Code)
	}
	return ""
}

// compare returns "" when the result is the expected one.
func (r *runner) compare(rec *Record, res *Result) string {
	if len(rec.Types) > 0 && res.Cols != len(rec.Types) {
		return fmt.Sprintf("%d columns, expected %d", res.Cols, len(rec.Types))
	}
	lines, values := r.format(rec, res)
	sum := hashValues(values)
	if rec.Label != "" {
		if prev, ok := r.labels[rec.Label]; ok && prev != sum {
			return "result differs from the earlier one with label " + rec.Label
		}
		r.labels[rec.Label] = sum
	}
	if rec.Hash != "" {
		if len(values) != rec.Values || sum != rec.Hash {
			return fmt.Sprintf("%d values hashing to %s, expected %d hashing to %s", len(values), sum, rec.Values, rec.Hash)
		}
		return ""
	}
	if rec.Rows == nil || slices.Equal(lines, rec.Rows) || slices.Equal(values, rec.Rows) {
		return ""
	}
	return fmt.Sprintf("got\n      %s\n    expected\n      %s", clip(lines), clip(rec.Rows))
}

func clip(lines []string) string {
	if len(lines) > 20 {
		lines = append(slices.Clone(lines[:20]), fmt.Sprintf("… %d lines", len(lines)))
	}
	return strings.Join(lines, "\n      ")
}

// format renders a result: one line per row in exact files, and the flat list of values.
func (r *runner) format(rec *Record, res *Result) (lines, values []string) {
	rows := make([][]string, len(res.Rows))
	for i, row := range res.Rows {
		rows[i] = make([]string, len(row))
		for j, v := range row {
			rows[i][j] = r.value(rec, j, v)
		}
	}
	if rec.Sort == RowSort {
		slices.SortFunc(rows, slices.Compare[[]string])
	}
	for _, row := range rows {
		lines = append(lines, strings.Join(row, "\t"))
		values = append(values, row...)
	}
	if rec.Sort == ValueSort {
		slices.Sort(values)
		lines = values
	}
	return lines, values
}

var exactEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

func (r *runner) value(rec *Record, col int, v *string) string {
	switch {
	case v == nil:
		return "NULL"
	case *v == "":
		return "(empty)"
	case r.file.Exact:
		return exactEscapes.Replace(*v)
	}
	kind := byte('T')
	if col < len(rec.Types) {
		kind = rec.Types[col]
	}
	switch kind {
	case 'I':
		if f, err := strconv.ParseFloat(*v, 64); err == nil && strings.ContainsAny(*v, ".eE") {
			return strconv.FormatInt(int64(f), 10)
		}
	case 'R':
		if f, err := strconv.ParseFloat(*v, 64); err == nil {
			return strconv.FormatFloat(f, 'f', 3, 64)
		}
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '@'
		}
		return c
	}, *v)
}

func hashValues(values []string) string {
	h := md5.New()
	for _, v := range values {
		h.Write([]byte(v))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
