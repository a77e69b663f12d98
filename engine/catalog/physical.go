package catalog

import "sync"

// physical holds what the store computed from one descriptor (codecs, key
// prefixes), so that it is computed once per version of the descriptor.
type physical struct {
	once sync.Once
	v    any
	err  error
}

// Physical returns what build made from the descriptor, calling it at most once
// for a descriptor that is in a Catalog.
func (r *Relation) Physical(build func(*Relation) (any, error)) (any, error) {
	if r.phys == nil {
		return build(r)
	}
	r.phys.once.Do(func() { r.phys.v, r.phys.err = build(r) })
	return r.phys.v, r.phys.err
}
