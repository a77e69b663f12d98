package catalog

// A cow is a map that is copied bucket by bucket: changing one descriptor in a
// database with thousands costs the copy of one bucket.
type cow[K cowKey, V any] struct{ b *[cowBuckets]map[K]V }

const cowBuckets = 64

type cowKey interface {
	comparable
	bucket() uint32
}

func (k oidKey) bucket() uint32 { return uint32(k) % cowBuckets }

func (k nameKey) bucket() uint32 {
	h := uint32(k.schema)
	for i := 0; i < len(k.name); i++ {
		h = h*31 + uint32(k.name[i])
	}
	return h % cowBuckets
}

type oidKey OID

// pairKey is a cast's source and target.
type pairKey [2]OID

func (k pairKey) bucket() uint32 { return (uint32(k[0])*31 + uint32(k[1])) % cowBuckets }

type nameKey struct {
	schema OID
	name   string
}

func (m cow[K, V]) get(k K) V {
	if m.b == nil {
		var zero V
		return zero
	}
	return m.b[k.bucket()][k]
}

// all calls f for every value until it returns false.
func (m cow[K, V]) all(f func(V) bool) {
	if m.b == nil {
		return
	}
	for _, b := range m.b {
		for _, v := range b {
			if !f(v) {
				return
			}
		}
	}
}

// cowEdit is a cow that is being changed; it owns the buckets it has copied.
type cowEdit[K cowKey, V any] struct {
	m     *cow[K, V]
	own   uint64
	array bool
}

func (e *cowEdit[K, V]) writable(k K) map[K]V {
	if !e.array {
		e.array = true
		b := new([cowBuckets]map[K]V)
		if e.m.b != nil {
			*b = *e.m.b
		}
		e.m.b = b
	}
	i := k.bucket()
	if e.own&(1<<i) == 0 {
		e.own |= 1 << i
		old := e.m.b[i]
		c := make(map[K]V, len(old)+1)
		for k, v := range old {
			c[k] = v
		}
		e.m.b[i] = c
	}
	return e.m.b[i]
}

func (e *cowEdit[K, V]) set(k K, v V) { e.writable(k)[k] = v }

func (e *cowEdit[K, V]) del(k K) {
	if e.m.b == nil {
		return
	}
	if _, ok := e.m.b[k.bucket()][k]; ok {
		delete(e.writable(k), k)
	}
}
