//go:build planted

package session

import "os"

// plantedRetry is the planted fault "retry-after-send": a forwarded statement whose
// answer was lost is sent again. See torture.TestPlanted.
var plantedRetry = os.Getenv("OSTRAKA_PLANTED") == "retry-after-send"
