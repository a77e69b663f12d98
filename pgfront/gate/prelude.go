package gate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"ostraka/sqltypes/pgerror"
)

// Codes in the place of a startup packet's version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSSENC = 80877104
)

// maxStartup is PostgreSQL's MAX_STARTUP_PACKET_LENGTH.
const maxStartup = 10000

// errEarly ends connections that get no answer.
var errEarly = errors.New("gate: not a startup packet")

// prelude reads up to the first packet that the handshake must see and keeps it in c.replay.
func (c *Conn) prelude() error {
	sslAnswered, gssAnswered := false, false
	for {
		var head [8]byte
		if c.tls == nil && !sslAnswered && !gssAnswered {
			if _, err := io.ReadFull(c.Conn, head[:1]); err != nil {
				return err
			}
			if head[0] == 0x16 { // a TLS record of kind handshake
				if c.l.cfg.TLS == nil {
					return errEarly
				}
				if err := c.handshakeTLS(head[:1]); err != nil {
					return err
				}
				continue
			}
			if _, err := io.ReadFull(c.Conn, head[1:]); err != nil {
				return err
			}
		} else if _, err := io.ReadFull(c.reader(), head[:]); err != nil {
			return err
		}
		length, code := int(binary.BigEndian.Uint32(head[:4])), binary.BigEndian.Uint32(head[4:])
		if length < 8 || length > maxStartup {
			return errEarly
		}
		switch {
		case code == codeGSSENC && length == 8 && !gssAnswered && c.tls == nil:
			gssAnswered = true
			if _, err := c.Conn.Write([]byte{'N'}); err != nil {
				return err
			}
			continue
		case code == codeSSL && length == 8 && !sslAnswered && c.tls == nil:
			if c.l.cfg.TLS != nil {
				c.replay = head[:]
				return nil
			}
			sslAnswered = true
			if _, err := c.Conn.Write([]byte{'N'}); err != nil {
				return err
			}
			continue
		}
		packet := make([]byte, length)
		copy(packet, head[:])
		if _, err := io.ReadFull(c.reader(), packet[8:]); err != nil {
			return err
		}
		if err := c.checkStartup(code, packet); err != nil {
			return err
		}
		c.replay = packet
		return nil
	}
}

func (c *Conn) reader() io.Reader {
	if c.tls != nil {
		return c.tls
	}
	return c.Conn
}

// checkStartup answers packets that cannot become a session.
func (c *Conn) checkStartup(code uint32, packet []byte) error {
	if code == codeCancel {
		if len(packet) != 16 {
			return errEarly
		}
		return nil
	}
	major, minor := code>>16, code&0xffff
	switch {
	case major < 3:
		// Protocol 2 has an error format of its own: text up to a zero byte.
		_, _ = fmt.Fprintf(c, "EFATAL:  unsupported frontend protocol %d.%d: server supports 3.0 to 3.0\n\x00", major, minor)
		return errEarly
	case major > 3:
		return c.fatal(pgerror.New(pgerror.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", major, minor))
	case c.refuse != nil:
		return c.fatal(c.refuse)
	}
	// Pairs of strings, then one zero byte, which is the last one.
	rest := packet[8:]
	for {
		if len(rest) == 0 {
			return c.fatal(pgerror.New(pgerror.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte"))
		}
		if rest[0] == 0 {
			if len(rest) != 1 {
				return c.fatal(pgerror.New(pgerror.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte"))
			}
			return nil
		}
		for range 2 {
			i := 0
			for i < len(rest) && rest[i] != 0 {
				i++
			}
			if i == len(rest) {
				return c.fatal(pgerror.New(pgerror.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte"))
			}
			rest = rest[i+1:]
		}
	}
}
