//go:build !unix

package peer

// Broken cannot be known here without waiting.
func (c *Conn) Broken() bool { return false }
