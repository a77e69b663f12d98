package raft

import (
	"encoding/binary"
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"
)

// The data of a command entry is
//
//	version u8 | kind u8 | body
//
// body of a batch: per proposal: uvarint term | uvarint length | payload.
// body of an epoch: empty; it marks that everything before it in the log is
// applied and that its leader may execute writes.
const (
	entryVersion byte = 1

	entryBatch byte = 1
	entryEpoch byte = 2
)

// errEntry is returned for an entry that no program of this version wrote.
var errEntry = errors.New("raft entry is damaged or of an unknown version")

func epochEntry() []byte { return []byte{entryVersion, entryEpoch} }

// newBatchEntry begins a batch of about n bytes.
func newBatchEntry(n int) []byte {
	return append(make([]byte, 0, n+2), entryVersion, entryBatch)
}

func appendProposal(entry []byte, term uint64, payload []byte) []byte {
	entry = binary.AppendUvarint(entry, term)
	entry = binary.AppendUvarint(entry, uint64(len(payload)))
	return append(entry, payload...)
}

// decodeEntry calls f for each proposal of a command entry; an epoch has none.
func decodeEntry(data []byte, f func(term uint64, payload []byte)) error {
	if len(data) < 2 || data[0] != entryVersion {
		return errEntry
	}
	kind, body := data[1], data[2:]
	switch kind {
	case entryEpoch:
		return nil
	case entryBatch:
	default:
		return fmt.Errorf("%w: kind %d", errEntry, kind)
	}
	for len(body) > 0 {
		term, n := binary.Uvarint(body)
		if n <= 0 {
			return errEntry
		}
		body = body[n:]
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			return errEntry
		}
		f(term, body[n:n+int(size):n+int(size)])
		body = body[n+int(size):]
	}
	return nil
}

// configVersion is the first byte of a membership as the applier keeps it;
// hashicorp/raft's own encoding follows.
const configVersion byte = 1

func encodeConfig(data []byte) []byte { return append([]byte{configVersion}, data...) }

// decodeConfig reads a membership kept by the applier.
func decodeConfig(b []byte) (c hraft.Configuration, err error) {
	if len(b) < 1 || b[0] != configVersion {
		return c, fmt.Errorf("membership record of unknown version")
	}
	defer func() {
		if r := recover(); r != nil { // DecodeConfiguration panics on damaged input
			err = fmt.Errorf("membership record is damaged: %v", r)
		}
	}()
	return hraft.DecodeConfiguration(b[1:]), nil
}
