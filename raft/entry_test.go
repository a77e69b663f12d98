package raft

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type proposal struct {
			term    uint64
			payload []byte
		}
		var want []proposal
		data := newBatchEntry(0)
		for range rapid.IntRange(0, 5).Draw(rt, "n") {
			p := proposal{rapid.Uint64().Draw(rt, "term"), rapid.SliceOf(rapid.Byte()).Draw(rt, "payload")}
			want = append(want, p)
			data = appendProposal(data, p.term, p.payload)
		}
		err := decodeEntry(data, func(term uint64, payload []byte) {
			if len(want) == 0 || want[0].term != term || !bytes.Equal(want[0].payload, payload) {
				rt.Fatalf("got term %d, %x", term, payload)
			}
			want = want[1:]
		})
		if err != nil || len(want) > 0 {
			rt.Fatal(err, want)
		}
	})
}

// TestEntryFormat pins the bytes of version 1.
func TestEntryFormat(t *testing.T) {
	got := appendProposal(appendProposal(newBatchEntry(0), 2, []byte("ab")), 300, nil)
	if want := []byte("\x01\x01\x02\x02ab\xac\x02\x00"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := epochEntry(); !bytes.Equal(got, []byte{1, 2}) {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"", "\x01", "\x02\x01", "\x01\x09", "\x01\x01\x02", "\x01\x01\x02\x05ab", "\x01\x01\xff"} {
		if err := decodeEntry([]byte(bad), func(uint64, []byte) {}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte("\x01\x01\x02\x02ab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeEntry(data, func(uint64, []byte) {})
	})
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add([]byte{configVersion, 0x81})
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeConfig(data)
	})
}
