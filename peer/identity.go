package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/sqltypes/pgerror"
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
	// ParamPID is the process id of the session that it acts for, as its client was told.
	ParamPID = "ostraka.peer_pid"
	// ParamShard binds the session to another shard that the node hosts.
	ParamShard = "ostraka.peer_shard"
	// ParamReads: "on" for a session that only reads what the node itself has, which
	// need not lead.
	ParamReads = "ostraka.peer_reads"
)

// tokenLife bounds the age of a token by the clock of the node that is asked. A
// node whose own clock differs by more is told the time, and signs that.
const tokenLife = 5 * time.Minute

// token signs one connection attempt.
func token(secret []byte, node, user, database, at string) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(strings.Join([]string{"ostraka peer 1", node, user, database, at}, "\x00")))
	return hex.EncodeToString(m.Sum(nil))
}

// Verify reports whether startup parameters were made by a node of the cluster.
// Who says so and cannot prove it gets an error and no session: it would name its
// transactions and go by the terms of its leader as a peer does, and the other end
// would know nothing of either.
func Verify(secret []byte, user, database string, params map[string]string, now time.Time) (bool, error) {
	at, node := params[ParamTime], params[ParamNode]
	if params[ParamToken] == "" && node == "" && params[ParamSession] == "" {
		return false, nil
	}
	refused := pgerror.New(pgerror.InvalidAuthorizationSpecification, "the connection is not from a node of this cluster")
	sec, err := strconv.ParseInt(at, 10, 64)
	if len(secret) == 0 || err != nil || !hmac.Equal([]byte(token(secret, node, user, database, at)), []byte(params[ParamToken])) {
		return false, refused
	}
	if d := now.Sub(time.Unix(sec, 0)); d > tokenLife || d < -tokenLife {
		return false, refused.WithDetail("%s%d.", clockDetail, now.Unix())
	}
	return true, nil
}

// clockDetail is what a node says of its clock that refuses a token for its age.
const clockDetail = "The token is of another time; the clock of this node is at "

// toldTime is the other node's clock, if it has refused a token for its age.
func toldTime(err error) (time.Time, bool) {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != string(pgerror.InvalidAuthorizationSpecification) {
		return time.Time{}, false
	}
	rest, ok := strings.CutPrefix(pe.Detail, clockDetail)
	sec, perr := strconv.ParseInt(strings.TrimSuffix(rest, "."), 10, 64)
	return time.Unix(sec, 0), ok && perr == nil
}
