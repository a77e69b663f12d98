// Package transport carries the Raft traffic of all groups of a node over one
// TCP port.
//
// It owns the port (Mux), the handshake that proves a peer belongs to the
// cluster, the control calls between nodes (Control), the wrapper around
// hashicorp/raft's network transport that remembers when acknowledged requests
// were sent (Transport, Peers), and the fault matrix (Faults). It promises that
// no byte of a connection reaches Raft before the handshake has passed. It does
// not know what is replicated.
//
// Everything here is safe for concurrent use.
package transport
