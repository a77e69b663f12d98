// Package peer owns the sessions that a node opens on other nodes: it connects
// with pgx as the cluster's own identity, takes the connection over, and relays
// protocol messages unchanged. It decides nothing about statements.
//
// A Conn is used by one goroutine; Cancel may be called from any.
package peer
