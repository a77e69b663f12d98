// Package wire owns the bytes of PostgreSQL's protocol 3.0: frames to the client
// are appended to one buffer per session (Out), messages from the client are read
// through a Reader that a signal can wake, and decoded in place (Fields).
//
// It knows messages, not what they mean. Nothing here is safe for concurrent use
// except Reader.Wake.
package wire
