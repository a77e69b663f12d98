package logstore

import hraft "github.com/hashicorp/raft"

// cache holds the newest entries of a log, contiguous, within a byte budget.
// hashicorp/raft reads each entry once per follower and once more as the entry
// before the next one. The owner locks.
type cache struct {
	budget int // bytes
	bytes  int
	base   uint64       // index of logs[0]
	logs   []*hraft.Log // logs[i].Index == base+i
}

func size(l *hraft.Log) int { return len(l.Data) + len(l.Extensions) + 96 }

// add appends l; a gap or a step back empties the cache first.
func (c *cache) add(l *hraft.Log) {
	if len(c.logs) > 0 && l.Index != c.base+uint64(len(c.logs)) {
		c.clear()
	}
	if len(c.logs) == 0 {
		c.base = l.Index
	}
	c.logs = append(c.logs, l)
	c.bytes += size(l)
	for c.bytes > c.budget && len(c.logs) > 1 {
		c.dropFirst()
	}
}

func (c *cache) get(index uint64) *hraft.Log {
	if index < c.base || index >= c.base+uint64(len(c.logs)) {
		return nil
	}
	return c.logs[index-c.base]
}

func (c *cache) dropFirst() {
	c.bytes -= size(c.logs[0])
	c.logs[0] = nil
	c.logs = c.logs[1:]
	c.base++
}

// truncatePrefix forgets entries at or below index.
func (c *cache) truncatePrefix(index uint64) {
	for len(c.logs) > 0 && c.base <= index {
		c.dropFirst()
	}
}

// truncateSuffix forgets entries at or above index.
func (c *cache) truncateSuffix(index uint64) {
	for n := len(c.logs); n > 0 && c.base+uint64(n)-1 >= index; n = len(c.logs) {
		c.bytes -= size(c.logs[n-1])
		c.logs[n-1] = nil
		c.logs = c.logs[:n-1]
	}
}

func (c *cache) clear() {
	clear(c.logs)
	c.logs, c.bytes = c.logs[:0], 0
}
