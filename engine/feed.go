package engine

import (
	"fmt"

	"ostraka/engine/commitlog"
)

// A feed is an append-only list that belongs to a relation: what transactions add
// to it stands in the order of their commits, at places that are the same on
// every replica and only grow, whoever leads.

// FeedPos is a place in a feed: the entry that committed, and which of its
// additions. Places of one shard are ordered lexicographically.
type FeedPos struct {
	commitlog.Position
	Ordinal uint32 // of the transaction in the log's entry
	Seq     uint32 // of the addition in the transaction, from 1
}

// Less reports whether p comes before q.
func (p FeedPos) Less(q FeedPos) bool {
	switch {
	case p.Position != q.Position:
		return p.Position.Less(q.Position)
	case p.Ordinal != q.Ordinal:
		return p.Ordinal < q.Ordinal
	}
	return p.Seq < q.Seq
}

// EndOf is the place behind everything that was committed up to a position.
func EndOf(p commitlog.Position) FeedPos {
	return FeedPos{Position: p, Ordinal: 1<<32 - 1, Seq: 1<<32 - 1}
}

// String is the place as tokens carry it.
func (p FeedPos) String() string {
	return fmt.Sprintf("%x.%x.%x.%x", p.Epoch, p.Index, p.Ordinal, p.Seq)
}

// ParseFeedPos is the inverse of String.
func ParseFeedPos(s string) (p FeedPos, err error) {
	n, err := fmt.Sscanf(s, "%x.%x.%x.%x", &p.Epoch, &p.Index, &p.Ordinal, &p.Seq)
	if err == nil && (n != 4 || p.String() != s) {
		err = fmt.Errorf("engine: %q is not a place in a feed", s)
	}
	return p, err
}

// Feed is one reading of a feed.
type Feed struct {
	// Oldest is the oldest place that is kept: a reader that has seen it, or stands
	// behind it, has missed nothing. Zero when the feed is empty.
	Oldest FeedPos
	// Upto: what was read is complete up to this place.
	Upto FeedPos
}
