package storage

import (
	"encoding/binary"

	"ostraka/engine/commitlog"
)

// AppendApplied encodes the applied record.
func AppendApplied(dst []byte, s *commitlog.AppliedState) (key, val []byte) {
	be := binary.BigEndian
	dst = append(dst, 1)
	dst = be.AppendUint64(dst, s.Position.Epoch)
	dst = be.AppendUint64(dst, s.Position.Index)
	dst = be.AppendUint64(dst, s.Term)
	dst = be.AppendUint64(dst, s.ConfigIndex)
	return appliedKey, append(dst, s.Config...)
}

// DecodeApplied is the inverse; an empty value is the state before the first entry.
func DecodeApplied(val []byte) (s commitlog.AppliedState, err error) {
	if len(val) == 0 {
		return s, nil
	}
	if len(val) < 33 || val[0] != 1 {
		return s, errCorrupt("applied record of %d bytes", len(val))
	}
	be := binary.BigEndian
	s.Position = commitlog.Position{Epoch: be.Uint64(val[1:]), Index: be.Uint64(val[9:])}
	s.Term = be.Uint64(val[17:])
	s.ConfigIndex = be.Uint64(val[25:])
	if len(val) > 33 {
		s.Config = append([]byte(nil), val[33:]...)
	}
	return s, nil
}

// Applied reads the applied record; durable reads the one that survives a crash.
func (db *DB) Applied(durable bool) (commitlog.AppliedState, error) {
	if durable {
		val, _, err := db.DurableGet(appliedKey)
		if err != nil {
			return commitlog.AppliedState{}, err
		}
		return DecodeApplied(val)
	}
	val, closer, found, err := db.Get(appliedKey)
	if err != nil || !found {
		return commitlog.AppliedState{}, err
	}
	defer closer.Close()
	return DecodeApplied(val)
}

// SequenceState is the state of a sequence. States are ordered: by Gen, which
// setval and every wrap of a cycling sequence raise, then by how far the sequence
// has come; the greater one wins, so effects may arrive in any order.
type SequenceState struct {
	Gen    uint64
	Last   int64
	Called bool
	Down   bool // the increment is negative
}

// Beyond reports whether s is later than o.
func (s SequenceState) Beyond(o SequenceState) bool {
	if s.Gen != o.Gen {
		return s.Gen > o.Gen
	}
	if s.Last != o.Last {
		return s.Last > o.Last != s.Down
	}
	return s.Called && !o.Called
}

// AppendSequence encodes a state.
func AppendSequence(dst []byte, s SequenceState) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, 1), s.Gen)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Last))
	var f byte
	if s.Called {
		f |= 1
	}
	if s.Down {
		f |= 2
	}
	return append(dst, f)
}

// DecodeSequence is the inverse.
func DecodeSequence(val []byte) (s SequenceState, err error) {
	if len(val) != 18 || val[0] != 1 {
		return s, errCorrupt("sequence state of %d bytes", len(val))
	}
	s.Gen = binary.BigEndian.Uint64(val[1:])
	s.Last = int64(binary.BigEndian.Uint64(val[9:]))
	s.Called, s.Down = val[17]&1 != 0, val[17]&2 != 0
	return s, nil
}
