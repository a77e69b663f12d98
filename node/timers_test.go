package node

import (
	"flag"
	"time"
)

// long runs the tests that need minutes at their full length.
var long = flag.Bool("long", false, "run the fault tests at their full length")

// testHeartbeat is the heartbeat time-out of clusters in this process: no pause of
// a loaded machine may move a leadership that a test relies on, and under the race
// detector everything takes several times as long.
func testHeartbeat() time.Duration {
	if raceDetector {
		return 2 * time.Second
	}
	return 500 * time.Millisecond
}
