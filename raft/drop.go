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

// ForgetLog empties a group's log on this node but keeps its term and vote, so
// that a member who has left and comes back without its state cannot vote twice in
// a term. The group is closed, and this node is no member of it any more.
func (h *Host) ForgetLog(id uint32) error {
	h.mu.Lock()
	open := h.groups[id] != nil
	h.mu.Unlock()
	if open {
		return fmt.Errorf("raft: group %d is open", id)
	}
	return h.db.DropLog(id)
}
