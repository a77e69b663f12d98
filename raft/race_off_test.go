//go:build !race

package raft_test

const raceDetector = false
