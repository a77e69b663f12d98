package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Startup parameters by which a node tells another one that it is a peer and for
// whom it acts. The token is an HMAC with the cluster's join secret over the
// other values and the time.
const (
	ParamNode  = "ostraka.peer_node"
	ParamTime  = "ostraka.peer_time"
	ParamToken = "ostraka.peer_token"
	// ParamSession is a random name of the connection, see Conn.Transaction.
	ParamSession = "ostraka.peer_session"
	// ParamShard binds the session to another shard that the node hosts.
	ParamShard = "ostraka.peer_shard"
)

// tokenLife bounds the age of a token; clocks of nodes may differ by that much.
const tokenLife = 5 * time.Minute

// token signs one connection attempt.
func token(secret []byte, node, user, database, at string) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(strings.Join([]string{"ostraka peer 1", node, user, database, at}, "\x00")))
	return hex.EncodeToString(m.Sum(nil))
}

// Verify reports whether startup parameters were made by a node of the cluster.
func Verify(secret []byte, user, database string, params map[string]string, now time.Time) bool {
	at, node := params[ParamTime], params[ParamNode]
	if len(secret) == 0 || params[ParamToken] == "" {
		return false
	}
	sec, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return false
	}
	if d := now.Sub(time.Unix(sec, 0)); d > tokenLife || d < -tokenLife {
		return false
	}
	return hmac.Equal([]byte(token(secret, node, user, database, at)), []byte(params[ParamToken]))
}
