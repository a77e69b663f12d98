//go:build !unix

package peer

import "net"

// Broken cannot be known here without waiting.
func (c *Conn) Broken() bool { return false }

// Hungup cannot be told here: the next request finds out.
func Hungup(net.Conn) bool { return false }
