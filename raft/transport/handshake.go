package transport

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// A connection begins with the dialler's hello:
//
//	magic "OSRF" | version u8 | kind u8 | group u32 | flags u8 | id length u8 | id | nonce [32]
//
// Version 2 has, after the node's id, the id of its cluster: length u8 | bytes; a
// node that does not belong to one yet says version 1. An acceptor that belongs to
// another one answers status 4, length u8 and its own cluster's id.
//
// The magic, read as a PostgreSQL start-up length, is impossible (1.3 GB). The
// acceptor answers with status u8 | nonce [32] | mac [32], the dialler with its
// own mac [32]. A mac is HMAC-SHA256 under the join secret over the role, both
// nonces, the hello and, under TLS, keying material exported from the channel
// (RFC 5705), so that a handshake cannot be relayed into another channel.
const (
	magic          = "OSRF"
	versionPlain   = 1
	versionCluster = 2
	nonceLen       = 32
	exporterLabel  = "EXPORTER-ostraka-raft-join"
)

// kind of stream behind a handshake.
const (
	kindRaft    byte = 1
	kindControl byte = 2
)

// flag bits of a hello.
const flagSecret byte = 1 // the dialler has a join secret

// status bytes of an acceptor.
const (
	statusOK        byte = 0
	statusNoGroup   byte = 1
	statusSecret    byte = 2 // one side has a join secret and the other has not
	statusVersion   byte = 3
	statusCluster   byte = 4
	maxNodeIDBytes       = 64
	maxClusterBytes      = 64
)

var (
	// ErrHandshake is returned when the other side does not prove that it knows
	// the join secret, or does not speak this protocol.
	ErrHandshake = errors.New("raft port: handshake failed")
	// ErrNoGroup is returned when the node does not host the group.
	ErrNoGroup = errors.New("raft port: the node does not host this group")
	// ErrForeign is returned when the other node has data of another cluster.
	ErrForeign = errors.New("raft port: the nodes belong to different clusters")
	errVersion = fmt.Errorf("%w: the peer does not know this version of the protocol", ErrHandshake)
)

type hello struct {
	kind  byte
	group uint32
	id    string
	// cluster of the dialler, "" when it has none.
	cluster string
	raw     []byte
}

func mac(secret []byte, role string, conn net.Conn, raw, dialNonce, acceptNonce []byte) ([]byte, error) {
	h := hmac.New(sha256.New, secret)
	io.WriteString(h, role)
	h.Write(raw)
	h.Write(dialNonce)
	h.Write(acceptNonce)
	if tc, ok := conn.(*tls.Conn); ok {
		st := tc.ConnectionState()
		ekm, err := st.ExportKeyingMaterial(exporterLabel, nil, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: exporting TLS keying material: %w", ErrHandshake, err)
		}
		h.Write(ekm)
	}
	return h.Sum(nil), nil
}

// dialHandshake runs the dialler's side. The caller has set a deadline.
func dialHandshake(conn net.Conn, secret []byte, kind byte, group uint32, id, cluster string) error {
	nonce := make([]byte, nonceLen)
	rand.Read(nonce)
	raw := append(make([]byte, 0, 64+len(id)), magic...)
	if cluster == "" {
		raw = append(raw, versionPlain, kind)
	} else {
		raw = append(raw, versionCluster, kind)
	}
	raw = binary.BigEndian.AppendUint32(raw, group)
	var flags byte
	if len(secret) > 0 {
		flags |= flagSecret
	}
	raw = append(raw, flags, byte(len(id)))
	raw = append(raw, id...)
	if cluster != "" {
		raw = append(append(raw, byte(len(cluster))), cluster...)
	}
	if _, err := conn.Write(append(raw[:len(raw):len(raw)], nonce...)); err != nil {
		return err
	}
	var status [1]byte
	if _, err := io.ReadFull(conn, status[:]); err != nil {
		return fmt.Errorf("%w: no answer from the peer: %w", ErrHandshake, err)
	}
	switch status[0] {
	case statusOK:
	case statusNoGroup:
		return ErrNoGroup
	case statusVersion:
		return errVersion
	case statusCluster:
		theirs := make([]byte, 1)
		if _, err := io.ReadFull(conn, theirs); err == nil {
			theirs = make([]byte, theirs[0])
			_, _ = io.ReadFull(conn, theirs) // the message says what came of it
		}
		return fmt.Errorf("%w: the peer has data of cluster %q, this node of %q", ErrForeign, theirs, cluster)
	case statusSecret:
		return fmt.Errorf("%w: one side has a join secret, the other has none", ErrHandshake)
	default:
		return fmt.Errorf("%w: the peer answered status %d", ErrHandshake, status[0])
	}
	answer := make([]byte, nonceLen+sha256.Size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	if len(secret) == 0 {
		return nil
	}
	want, err := mac(secret, "accept", conn, raw, nonce, answer[:nonceLen])
	if err != nil {
		return err
	}
	if !hmac.Equal(want, answer[nonceLen:]) {
		return fmt.Errorf("%w: the peer does not know the join secret of this node", ErrHandshake)
	}
	own, err := mac(secret, "dial", conn, raw, nonce, answer[:nonceLen])
	if err != nil {
		return err
	}
	_, err = conn.Write(own)
	return err
}

// acceptHandshake runs the acceptor's side. hosted tells whether a stream of
// this kind and group is served here; own is this node's cluster, "" if it has none. The caller has set a deadline.
func acceptHandshake(conn net.Conn, secret []byte, own string, hosted func(kind byte, group uint32) bool) (hello, error) {
	fixed := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(conn, fixed); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	if string(fixed[:4]) != magic {
		return hello{}, fmt.Errorf("%w: not a raft connection", ErrHandshake)
	}
	refuse := func(status byte, err error) (hello, error) {
		conn.Write([]byte{status})
		return hello{}, err
	}
	if fixed[4] != versionPlain && fixed[4] != versionCluster {
		return refuse(statusVersion, fmt.Errorf("%w: version %d", ErrHandshake, fixed[4]))
	}
	h := hello{kind: fixed[5], group: binary.BigEndian.Uint32(fixed[6:])}
	idLen := int(fixed[11])
	if idLen > maxNodeIDBytes {
		return refuse(statusVersion, fmt.Errorf("%w: node id of %d bytes", ErrHandshake, idLen))
	}
	named := make([]byte, idLen, idLen+1+maxClusterBytes)
	if _, err := io.ReadFull(conn, named); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	h.id = string(named)
	if fixed[4] == versionCluster {
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return hello{}, fmt.Errorf("%w: %w", ErrHandshake, err)
		}
		if n[0] == 0 || n[0] > maxClusterBytes {
			return refuse(statusVersion, fmt.Errorf("%w: cluster id of %d bytes", ErrHandshake, n[0]))
		}
		cluster := make([]byte, n[0])
		if _, err := io.ReadFull(conn, cluster); err != nil {
			return hello{}, fmt.Errorf("%w: %w", ErrHandshake, err)
		}
		h.cluster = string(cluster)
		named = append(append(named, n[0]), cluster...)
	}
	h.raw = append(fixed, named...)
	dialNonce := make([]byte, nonceLen)
	if _, err := io.ReadFull(conn, dialNonce); err != nil {
		return hello{}, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	if (fixed[10]&flagSecret != 0) != (len(secret) > 0) {
		return refuse(statusSecret, fmt.Errorf("%w: node %q: one side has a join secret, the other has none", ErrHandshake, h.id))
	}
	if own != "" && h.cluster != "" && own != h.cluster {
		conn.Write(append([]byte{statusCluster, byte(len(own))}, own...))
		return hello{}, fmt.Errorf("%w: node %q has data of cluster %q, this node of %q", ErrForeign, h.id, h.cluster, own)
	}
	if !hosted(h.kind, h.group) {
		return refuse(statusNoGroup, ErrNoGroup)
	}
	nonce := make([]byte, nonceLen)
	rand.Read(nonce)
	answer := append([]byte{statusOK}, nonce...)
	proof := make([]byte, sha256.Size)
	var err error
	if len(secret) > 0 {
		if proof, err = mac(secret, "accept", conn, h.raw, dialNonce, nonce); err != nil {
			return hello{}, err
		}
	}
	if _, err := conn.Write(append(answer, proof...)); err != nil {
		return hello{}, err
	}
	if len(secret) == 0 {
		return h, nil
	}
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(conn, got); err != nil {
		return hello{}, fmt.Errorf("%w: node %q hung up instead of proving that it knows the join secret (has it another one?): %w", ErrHandshake, h.id, err)
	}
	want, err := mac(secret, "dial", conn, h.raw, dialNonce, nonce)
	if err != nil {
		return hello{}, err
	}
	if !hmac.Equal(want, got) {
		return hello{}, fmt.Errorf("%w: node %q does not know the join secret", ErrHandshake, h.id)
	}
	return h, nil
}
