package node

import "ostraka/shardrouter"

// DocRouter executes the commands of the doc functions.
func (n *Node) DocRouter() shardrouter.Router { return n.router }
