package ddl

import (
	"context"

	"ostraka/engine"
	"ostraka/expr"
)

// read feeds a scan's rows to the columns' samples. Rows are chosen by reservoir
// sampling, the same rows for every column.
func (s *sampler) read(ctx context.Context, sc engine.Scanner) error {
	b := &expr.Batch{}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := sc.Next(b)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		for i := range n {
			slot := -1
			if s.rows < sampleRows {
				slot = int(s.rows)
			} else if j := s.rnd.Int64N(s.rows + 1); j < sampleRows {
				slot = int(j)
			}
			for k, c := range s.columns {
				c.add(b.Cols[k].Datum(i), s.rows, slot)
			}
			s.rows++
		}
	}
}
