package node

import (
	"errors"

	"ostraka/raft"
	"ostraka/sqltypes/pgerror"
)

var errNotMember = errors.New("this node is not a member of the cluster any more")

// notMember is session.Deps.Member of a group: its replica may still be looked at,
// but what it holds is as old as the removal and gets no changes.
func notMember(g *raft.Group) func() error {
	return func() error {
		if !g.Removed() {
			return nil
		}
		return pgerror.Wrap(errNotMember, pgerror.CannotConnectNow, "%s", errNotMember.Error()).
			WithDetail("Its data gets no changes.").
			WithHint("Ask another node, or make this one a member again with raft_add_learner() and raft_change_membership() on a member.")
	}
}
