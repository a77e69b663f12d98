package effects

import (
	"bytes"
	"testing"

	"ostraka/engine/storage"
)

func sample() []byte {
	w := NewWriter(nil, 12345)
	w.GuardAbsent([]byte("absent"))
	w.GuardValue([]byte("k"), []byte("v"))
	w.Put("key", []byte("value"))
	w.PutPart("key2", []byte("va"))
	w.Put("key2", []byte("lue"))
	w.Put("empty", []byte{})
	w.Delete("gone")
	w.DeleteRange([]byte("a"), []byte("b"))
	w.Counter(storage.CounterXid, 99)
	w.Sequence(7, storage.SequenceState{Gen: 1, Last: -5, Called: true, Down: true})
	w.Descriptor([]byte("dk"), []byte("desc"))
	w.Notify(5, 77, "channel", "payload")
	w.Stage(3, []byte("ops"))
	w.UseStaged(4)
	w.DropStaged(0)
	return w.Bytes()
}

func TestRoundTrip(t *testing.T) {
	entry := sample()
	r, err := NewReader(entry)
	if err != nil || r.Xid != 12345 {
		t.Fatal(r.Xid, err)
	}
	// Writing again what was read gives the same bytes.
	w := NewWriter(nil, r.Xid)
	var o Operation
	for {
		more, err := r.Next(&o)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		switch o.Op {
		case OpPut:
			w.Put(string(o.Key), o.Value)
		case OpPutPart:
			w.PutPart(string(o.Key), o.Value)
		case OpDelete:
			w.Delete(string(o.Key))
		case OpDeleteRange:
			w.DeleteRange(o.Key, o.Value)
		case OpCounter:
			w.Counter(o.Counter, o.N)
		case OpSequence:
			s, err := storage.DecodeSequence(o.Value)
			if err != nil {
				t.Fatal(err)
			}
			w.Sequence(o.N, s)
		case OpDescriptor:
			w.Descriptor(o.Key, o.Value)
		case OpNotify:
			w.Notify(o.DB, o.PID, string(o.Key), string(o.Value))
		case OpGuard:
			if o.N == 1 {
				w.GuardValue(o.Key, o.Value)
			} else {
				w.GuardAbsent(o.Key)
			}
		case OpStage:
			w.Stage(uint32(o.N), o.Value)
		case OpUseStaged:
			w.UseStaged(uint32(o.N))
		case OpDropStaged:
			w.DropStaged(o.N)
		}
	}
	if !bytes.Equal(w.Bytes(), entry) {
		t.Fatalf("%x\n%x", w.Bytes(), entry)
	}
}

func TestTruncated(t *testing.T) {
	entry := sample()
	whole := count(entry)
	for n := range entry {
		if got := count(entry[:n]); got >= whole {
			t.Errorf("%d of %d bytes read as %d operations", n, len(entry), got)
		}
	}
}

// count is the number of operations before an error or the end.
func count(entry []byte) int {
	r, err := NewReader(entry)
	if err != nil {
		return -1
	}
	n := 0
	var o Operation
	for {
		more, err := r.Next(&o)
		if err != nil || !more {
			return n
		}
		n++
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{Version, 0})
	f.Fuzz(func(t *testing.T, entry []byte) {
		if n := count(entry); n > len(entry) {
			t.Fatalf("%d operations in %d bytes", n, len(entry))
		}
	})
}
