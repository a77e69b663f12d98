package session

import (
	"math"
	"math/rand/v2"
)

// newRand makes the generator that setseed asks for.
func newRand(seed float64) *rand.Rand {
	bits := math.Float64bits(seed)
	return rand.New(rand.NewPCG(bits, bits^0x9e3779b97f4a7c15))
}
