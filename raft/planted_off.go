//go:build !planted

package raft

// plantedStaleBarrier is false but in builds that are to be caught.
const plantedStaleBarrier = false

func (g *Group) plantedAgain(uint64, []byte) {}
