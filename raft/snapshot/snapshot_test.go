package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	hraft "github.com/hashicorp/raft"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ostraka/engine/commitlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tb is what testing's and rapid's handles share.
type tb interface {
	Helper()
	Fatal(...any)
}

func write(t tb, fs vfs.FS, name string, body []byte) {
	t.Helper()
	if err := fs.MkdirAll(fs.PathDir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Clone(body)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t tb, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func stateAt(index uint64) commitlog.AppliedState {
	return commitlog.AppliedState{Position: commitlog.Position{Index: index}, Term: 3, Config: []byte("c"), ConfigIndex: 2}
}

func TestStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		files := map[string][]byte{}
		for i := range rapid.IntRange(0, 4).Draw(rt, "files") {
			name := fmt.Sprintf("f%d", i)
			if rapid.Bool().Draw(rt, "sub") {
				name = "sub/" + name
			}
			files[name] = bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom([]int{0, 1, 1000, 300000}).Draw(rt, "size"))
			write(rt, fs, "src/"+name, files[name])
		}
		fs.MkdirAll("src", 0o755)
		p, err := newPacker(fs, "src", stateAt(9))
		if err != nil {
			rt.Fatal(err)
		}
		stream, err := io.ReadAll(p)
		if err != nil {
			rt.Fatal(err)
		}
		if int64(len(stream)) != p.total {
			rt.Fatalf("announced %d bytes, sent %d", p.total, len(stream))
		}
		st, err := unpack(fs, bytes.NewReader(stream), "dst")
		if err != nil {
			rt.Fatal(err)
		}
		if st.Position.Index != 9 || st.Term != 3 || string(st.Config) != "c" || st.ConfigIndex != 2 {
			rt.Fatalf("state %+v", st)
		}
		for name, want := range files {
			if !bytes.Equal(read(rt, fs, "dst/"+name), want) {
				rt.Fatalf("%s differs", name)
			}
		}
		// Any damage and any missing tail is noticed.
		at := rapid.IntRange(0, len(stream)-1).Draw(rt, "damage")
		bad := bytes.Clone(stream)
		bad[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		if _, err := unpack(fs, bytes.NewReader(bad), "bad"); err == nil {
			rt.Fatalf("a flipped bit at %d of %d was not noticed", at, len(stream))
		}
		if _, err := unpack(fs, bytes.NewReader(stream[:at]), "bad"); err == nil {
			rt.Fatalf("a stream cut at %d of %d was not noticed", at, len(stream))
		}
		if _, err := unpack(fs, bytes.NewReader(append(stream, 0)), "bad"); err == nil {
			rt.Fatal("a byte too many was not noticed")
		}
	})
}

func TestBadNames(t *testing.T) {
	for _, name := range []string{"../x", "a/../../x", "/x", "", "a//b", ".", `a\b`, "c:d"} {
		head, err := encodeHeader(header{State: stateAt(1), Files: []file{{Name: name}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(vfs.NewMem(), bytes.NewReader(append(head, 0, 0, 0, 0)), "dst"); !errors.Is(err, ErrStream) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// applier makes checkpoints of one file.
type applier struct {
	commitlog.Applier
	fs    vfs.FS
	index uint64
	made  int
	t     *testing.T
}

func (a *applier) Applied() commitlog.AppliedState { return stateAt(a.index) }

func (a *applier) Checkpoint(_ context.Context, dir string) (commitlog.AppliedState, error) {
	a.made++
	write(a.t, a.fs, dir+"/data", fmt.Appendf(nil, "state %d", a.index))
	return stateAt(a.index), nil
}

func newStore(t *testing.T, a *applier, logStart *uint64, keep time.Duration) *Store {
	t.Helper()
	s, err := Open(Config{
		FS: a.fs, Dir: "staging", Applier: a, Keep: keep,
		LogStart:     func() uint64 { return *logStart },
		DecodeConfig: func([]byte) (hraft.Configuration, error) { return hraft.Configuration{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestCheckpointsAreKept(t *testing.T) {
	a := &applier{fs: vfs.NewMem(), index: 10, t: t}
	logStart := uint64(5)
	s := newStore(t, a, &logStart, time.Hour)
	openLive := func(want uint64) io.Closer {
		t.Helper()
		m, rc, err := s.Open(liveID)
		if err != nil {
			t.Fatal(err)
		}
		if m.Index != want {
			t.Errorf("checkpoint at %d, want %d", m.Index, want)
		}
		return rc
	}
	if _, ok := s.Floor(); ok {
		t.Error("a floor without a checkpoint")
	}
	one := openLive(10)
	a.index = 20
	two := openLive(10) // shared
	if i, ok := s.Floor(); i != 10 || !ok {
		t.Errorf("floor %d, %v", i, ok)
	}
	one.Close()
	two.Close()
	two.Close()
	three := openLive(10) // kept
	logStart = 12         // and now useless
	four := openLive(20)
	three.Close()
	if i, _ := s.Floor(); i != 20 {
		t.Errorf("floor %d", i)
	}
	four.Close()
	if a.made != 2 {
		t.Errorf("%d checkpoints made", a.made)
	}
	if names, _ := a.fs.List("staging"); len(names) != 1 {
		t.Errorf("left in staging: %v", names)
	}
	s.Close()
	if names, _ := a.fs.List("staging"); len(names) != 0 {
		t.Errorf("left after close: %v", names)
	}
}

func TestCheckpointsExpire(t *testing.T) {
	a := &applier{fs: vfs.NewMem(), index: 10, t: t}
	logStart := uint64(5)
	s := newStore(t, a, &logStart, time.Millisecond)
	_, rc, err := s.Open(liveID)
	if err != nil {
		t.Fatal(err)
	}
	rc.Close()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, ok := s.Floor(); !ok {
			break
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the checkpoint never expires")
		}
	}
}

func TestReceive(t *testing.T) {
	a := &applier{fs: vfs.NewMem(), index: 10, t: t}
	logStart := uint64(5)
	s := newStore(t, a, &logStart, time.Hour)
	m, rc, err := s.Open(liveID)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := io.ReadAll(rc)
	rc.Close()
	if err != nil || int64(len(stream)) != m.Size {
		t.Fatal(err, len(stream), m.Size)
	}
	receive := func(index uint64, stream []byte, cancel bool) (string, error) {
		k, err := s.Create(1, index, 3, hraft.Configuration{}, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		for len(stream) > 0 {
			n := min(len(stream), 7)
			if _, err := k.Write(stream[:n]); err != nil {
				return k.ID(), errors.Join(err, k.Cancel())
			}
			stream = stream[n:]
		}
		if cancel {
			return k.ID(), k.Cancel()
		}
		return k.ID(), k.Close()
	}
	left := func(want int) {
		t.Helper()
		names, _ := a.fs.List("staging")
		n := 0
		for _, x := range names {
			if strings.HasPrefix(x, "in-") {
				n++
			}
		}
		if n != want {
			t.Errorf("left in staging: %v", names)
		}
	}
	if _, err := receive(10, stream[:len(stream)-3], true); err != nil {
		t.Error(err)
	}
	left(0)
	if _, err := receive(10, stream[:len(stream)-3], false); !errors.Is(err, ErrStream) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut stream: %v", err)
	}
	if _, err := receive(11, stream, false); !errors.Is(err, ErrStream) {
		t.Errorf("a stream of another position: %v", err)
	}
	if _, err := receive(10, append([]byte("junk"), stream...), false); err == nil {
		t.Error("junk was received")
	}
	left(0)
	id, err := receive(10, stream, false)
	if err != nil {
		t.Fatal(err)
	}
	left(1)
	_, got, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Unwrap(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(read(t, a.fs, r.Dir+"/data")) != "state 10" {
		t.Error("the file differs")
	}
	got.Close()
	left(0)
	if _, _, err := s.Open(id); err == nil {
		t.Error("a closed checkpoint is still there")
	}
}

func FuzzUnpack(f *testing.F) {
	fs := vfs.NewMem()
	write(f, fs, "src/a", []byte("hello"))
	p, err := newPacker(fs, "src", stateAt(1))
	if err != nil {
		f.Fatal(err)
	}
	stream, _ := io.ReadAll(p)
	f.Add(stream)
	f.Fuzz(func(t *testing.T, in []byte) { unpack(vfs.NewMem(), bytes.NewReader(in), "dst") })
}
