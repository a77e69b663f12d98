//go:build !planted

package session

// plantedRetry is false but in builds that are to be caught.
const plantedRetry = false
