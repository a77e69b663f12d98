package node

import (
	"flag"
	"time"
)

// long runs the tests that need minutes at their full length.
var long = flag.Bool("long", false, "run the fault tests at their full length")

// calm gives a node timers that no load moves a leadership by, for tests in which
// leadership moves by being handed over only.
func calm(c *Config) { c.Heartbeat = 4 * testHeartbeat() }

// testHeartbeat is the heartbeat time-out of clusters in this process: no pause of
// a loaded machine may move a leadership that a test relies on, and under the race
// detector everything takes several times as long.
func testHeartbeat() time.Duration {
	if raceDetector {
		return 2 * time.Second
	}
	return 500 * time.Millisecond
}
