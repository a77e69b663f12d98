package node

import (
	"os"
	"strings"
	"testing"
)

// TestMetricsAreDocumented compares the exposed metrics with docs/metrics.md.
func TestMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range allMetrics {
		if !strings.Contains(string(doc), "| `"+m.name+"` | "+strings.Join(m.labels, ", ")) {
			t.Errorf("docs/metrics.md does not list %s with labels %v", m.name, m.labels)
		}
	}
	if n := strings.Count(string(doc), "| `ostraka_"); n != len(allMetrics) {
		t.Errorf("docs/metrics.md lists %d metrics, the node has %d", n, len(allMetrics))
	}
}
