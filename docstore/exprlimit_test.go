package docstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ostraka/sqltypes/pgerror"
)

// Expressions that double a value at every step end at a bound, and loops of
// loops end with their statement.
func TestExpressionsAreBounded(t *testing.T) {
	for _, e := range []string{
		`{"$reduce":{"input":{"$range":[0,40]},"initialValue":["some text of an array"],"in":{"$concatArrays":["$$value","$$value"]}}}`,
		`{"$reduce":{"input":{"$range":[0,40]},"initialValue":"xx","in":{"$concat":["$$value","$$value"]}}}`,
		`{"$reduce":{"input":{"$range":[0,40]},"initialValue":"xx","in":["$$value","$$value"]}}`,
		`{"$reduce":{"input":{"$range":[0,40]},"initialValue":"xx","in":{"a":"$$value","b":"$$value"}}}`,
		`{"$map":{"input":{"$range":[0,100000]},"in":"$s"}}`,
	} {
		x, err := compileExpr(parse(t, e), nil)
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		doc := parse(t, `{"s":"`+strings.Repeat("x", 1000)+`"}`)
		_, err = x.eval(&exprEnv{root: doc, current: doc})
		var pe *pgerror.Error
		if !errors.As(err, &pe) || pe.Code != pgerror.ProgramLimitExceeded {
			t.Errorf("%s: %v, want 54000", e, err)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	cancel(stop)
	x, err := compileExpr(parse(t, `{"$map":{"input":{"$range":[0,1000000]},"in":{"$map":{"input":{"$range":[0,1000000]},"in":1}}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = x.eval(&exprEnv{ctx: ctx}); !errors.Is(err, stop) {
		t.Fatalf("a loop of a statement that has ended: %v", err)
	}
}
