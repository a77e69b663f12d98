// Package session is one client's session: its message loop, transaction state,
// settings, prepared statements, portals and cursors, and the statements that
// act on these (BEGIN, SET, PREPARE, DECLARE, LISTEN, COPY, EXPLAIN …).
//
// It decides, for each statement, where it runs (planner.Class, the transaction's
// state and whether this node leads) and drives planner and executor through the
// interfaces in deps.go; DDL goes to Utility, statements of another node to Forwarder.
//
// A Session is used by one goroutine, its own. Others may call only what says so:
// Cancel, Terminate, Notify and Activity. A panic while a message is handled
// ends the session with XX000 and nothing else.
package session
