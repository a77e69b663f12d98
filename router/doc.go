// Package router is a front end without data before plain servers of PostgreSQL's
// protocol (Ostraka's or PostgreSQL's own): it authenticates clients, decides from
// the syntax tree whether a statement only reads, and relays frames unchanged to a
// replica or to the primary.
//
// It promises: a statement that may write, that is not understood, or that calls a
// function it does not know goes to the primary; what users store or send as
// parameters never decides; a session reads its own writes; a connection that
// failed or timed out is never used again, and a statement that may have run is
// never sent again. It holds no catalogue and stores nothing.
//
// Before plain Ostraka servers that share collections (Config.Shards) it finds the
// calls of doc functions in the tree, lets shardrouter.Plain route and merge the
// commands, and puts the answers in the place of the calls.
//
// A Router is safe for concurrent use. Each client session is one goroutine, which
// owns at most one upstream session on the primary and one on a replica. Between
// requests the session, sockets included, belongs to an event loop (see lane), which
// serves what is ordinary and wakes the goroutine for the rest.
package router
