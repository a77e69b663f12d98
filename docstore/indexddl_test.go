package docstore

import (
	"errors"
	"testing"

	"ostraka/sqltypes/pgerror"
)

// TestUniqueIndexRefused: the error names the fields, not the index's encoding of values.
func TestUniqueIndexRefused(t *testing.T) {
	s := newStore(t)
	x, err := ParseIndexSpec(parse(t, `{"fields": "v", "unique": true}`))
	if err != nil {
		t.Fatal(err)
	}
	s.insert("c", `{"v": 1}`, `{"v": 1.0}`)
	var pe *pgerror.Error
	if _, _, err := s.try(&Command{Op: OpCreateIndex, Collection: "c", Index: x}); !errors.As(err, &pe) || pe.Detail != "Two documents have the same (v); a missing field counts as null." {
		t.Errorf("a unique index over equal values: %v", err)
	}
}
