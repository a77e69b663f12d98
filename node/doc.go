// Package node puts one Ostraka process together: the data directory, the Raft
// port with its groups, the shards' engines, the PostgreSQL listener, the HTTP
// endpoint, and the functions and views that only a node can answer (raft_…,
// ostraka.…). It owns start and stop order and readiness; it has no logic of
// statements, storage or replication of its own.
package node
