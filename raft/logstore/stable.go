package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// errNotFound has the text that hashicorp/raft compares with.
var errNotFound = errors.New("not found")

// Stable is the stable store (term, vote) of one group.
type Stable struct {
	db    *DB
	group uint32
}

// Stable returns the stable store of a group.
func (d *DB) Stable(group uint32) *Stable { return &Stable{db: d, group: group} }

// Set stores val under key durably.
func (s *Stable) Set(key, val []byte) error {
	k := stableKey(s.group, key)
	buf := append(make([]byte, headerLen, headerLen+len(val)), val...)
	seal(k, buf)
	return s.db.write(func() error { return s.db.db.Set(k, buf, pebble.Sync) })
}

// Get returns the value of key, or an error whose text is "not found".
func (s *Stable) Get(key []byte) ([]byte, error) {
	k := stableKey(s.group, key)
	v, closer, err := s.db.db.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("raft log %s: group %d, stable record %s: %w", s.db.path, s.group, key, err)
	}
	defer closer.Close()
	body, err := unseal(k, v)
	if err != nil {
		return nil, &CorruptError{Path: s.db.path, Group: s.group, Name: string(key), Reason: err.Error()}
	}
	return append([]byte{}, body...), nil
}

// SetUint64 stores val under key durably.
func (s *Stable) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.LittleEndian.AppendUint64(nil, val))
}

// GetUint64 returns the number under key; a missing key is an error "not found".
func (s *Stable) GetUint64(key []byte) (uint64, error) {
	v, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, &CorruptError{Path: s.db.path, Group: s.group, Name: string(key), Reason: "not a number"}
	}
	return binary.LittleEndian.Uint64(v), nil
}

// Number is GetUint64 where a missing key is 0.
func (s *Stable) Number(key string) (uint64, error) {
	v, err := s.GetUint64([]byte(key))
	if errors.Is(err, errNotFound) {
		return 0, nil
	}
	return v, err
}
