package torture

import (
	"context"
	"os"
	"testing"
	"time"

	"ostraka/torture/nodeproc"
)

// TestShards is the short form of `ostraka-torture shards`: nine processes behind a
// router; one node of each shard is killed, then a whole shard.
func TestShards(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; runs without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	problems, err := RunShards(ctx, ShardOptions{Dir: t.TempDir(), Command: []string{self}, Env: []string{nodeproc.Env + "=1"}, Short: true, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}
