package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// olderVersion is a commit whose nodes this program must be able to work with, and
// whose data directories it must be able to take over: the first of the log's
// present format that can compare replicas.
const olderVersion = "34eb908805960ea61de16ce0c552a57f83c88457"

// buildOlder builds the older program from the repository's history; the test is
// skipped where there is none.
func buildOlder(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("git", "-C", root, "cat-file", "-e", olderVersion+"^{commit}").Run(); err != nil {
		t.Skip("the history of this repository has not the older version: ", err)
	}
	src, bin := t.TempDir(), filepath.Join(t.TempDir(), "ostraka")
	archive := filepath.Join(src, "older.tar")
	for _, c := range []*exec.Cmd{
		exec.Command("git", "-C", root, "archive", "-o", archive, olderVersion),
		exec.Command("tar", "-xf", archive, "-C", src),
		exec.Command("go", "build", "-C", src, "-o", bin, "./cmd/ostraka"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	return bin
}

// transferTo hands leadership to a node.
func (c *cluster) transferTo(p *process) {
	c.t.Helper()
	wait(c.t, "node "+p.id+" to lead", func(ctx context.Context) error {
		if c.leader() == p {
			return nil
		}
		if err := p.exec(ctx, fmt.Sprintf("SELECT raft_transfer_leadership('%s')", p.id)); err != nil {
			return err
		}
		return fmt.Errorf("node %s leads", c.leader().id)
	})
}

// TestRollingUpgrade: three nodes of an older version are replaced by this one, one
// after the other, under load: nothing acknowledged is lost and nothing done twice;
// old and new follow and lead each other, statements are forwarded both ways, and
// replicas are equal at every step.
func TestRollingUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an older version and starts processes; runs without -short")
	}
	older := buildOlder(t)
	c := &cluster{t: t, dir: t.TempDir()}
	for range 3 {
		p := c.add()
		p.program = []string{older, "start"}
		p.env = append(p.env, "OSTRAKA_HTTP="+freeAddr(t))
		p.start()
	}
	c.waitVoters(3)
	prepareLoad(t, c.nodes[1])
	everywhere(c, "SELECT count(*) FROM counter", 8)
	l := &load{}
	l.run(c)
	same := func(step string) {
		t.Helper()
		wait(t, step+": equal replicas", func(ctx context.Context) error {
			got, err := query[string](ctx, c.leader(), "SELECT ostraka_checksum()")
			if err == nil && !strings.Contains(got, `"equal": true`) {
				err = fmt.Errorf("%s", got)
			}
			return err
		})
	}
	made := int64(0)
	through := func(step string) { // every node makes a table and uses all of them
		t.Helper()
		for _, p := range c.nodes {
			made++
			mustExec(t, p, fmt.Sprintf("CREATE TABLE up%d (id bigserial PRIMARY KEY, v jsonb, n numeric, a text[])", made))
			mustExec(t, p, fmt.Sprintf("INSERT INTO up%d (v, n, a) SELECT jsonb_build_object('k', g), g / 3.0, ARRAY[md5(g::text)] FROM generate_series(1, 50) g", made))
		}
		for i := int64(1); i <= made; i++ {
			everywhere(c, fmt.Sprintf("SELECT sum((v->>'k')::int) FROM up%d", i), 1275)
		}
		same(step)
	}
	through("all old")
	for i, p := range c.nodes {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = p.cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("node %s does not end", p.id)
		}
		p.program = nil
		p.start()
		c.waitVoters(3)
		through(fmt.Sprintf("%d new", i+1))
		c.transferTo(p) // the new one leads old ones
		through(fmt.Sprintf("%d new, led by one", i+1))
		if i+1 < len(c.nodes) {
			c.transferTo(c.nodes[2]) // an old one leads new ones
			through(fmt.Sprintf("%d new, led by an old one", i+1))
		}
	}
	l.stop.Store(true)
	l.wg.Wait()
	var acked int64
	for i := range l.acked {
		acked += l.acked[i]
	}
	if acked == 0 {
		t.Fatal("no write was acknowledged: the test proves nothing")
	}
	t.Logf("%d writes acknowledged", acked)
	total, err := query[int64](context.Background(), c.leader(), "SELECT count(*) FROM entry")
	if err != nil {
		t.Fatal(err)
	}
	everywhere(c, "SELECT count(*) FROM entry", total)
	for _, p := range c.nodes {
		l.check(t, p)
	}
	same("all new")
	_ = os.Remove(older)
}
