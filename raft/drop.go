package raft

import "fmt"

// DropGroup removes a group's log and term from this node, for a group that is
// over: its id must not be used again. The group is closed.
func (h *Host) DropGroup(id uint32) error {
	h.mu.Lock()
	open := h.groups[id] != nil
	h.mu.Unlock()
	if open {
		return fmt.Errorf("raft: group %d is open", id)
	}
	return h.db.Drop(id)
}
