package exec

import (
	"ostraka/sqltypes/pgerror"
)

// account is a query's memory.
type account struct{ used, limit int64 }

// budget is one operator's share: it may reach work_mem before it should spill.
type budget struct {
	x    *Execution
	used int64
	peak int64
}

// grow reserves n bytes more; 53200 past the query's hard limit.
func (b *budget) grow(n int64) error {
	b.used += n
	b.peak = max(b.peak, b.used)
	b.x.mem.used += n
	if b.x.mem.used > b.x.mem.limit {
		return pgerror.New(pgerror.OutOfMemory, "out of memory").
			WithDetail("The query needs more than %d kB.", b.x.mem.limit/1024)
	}
	return nil
}

// over reports whether the operator should spill.
func (b *budget) over() bool { return b.used > b.x.args.WorkMem }

// release gives everything back.
func (b *budget) release() {
	if b.x != nil {
		b.x.mem.used -= b.used
	}
	b.used = 0
}
