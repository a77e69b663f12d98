//go:build race

package node

const raceDetector = true
