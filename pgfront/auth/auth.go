// Package auth decides whether a client is who it says: trust, SCRAM-SHA-256 and
// SCRAM-SHA-256-PLUS (RFC 5802, 5929, 7677), md5 and clear-text passwords against
// the verifiers of the catalogue's roles. It owns the exchange between startup
// packet and AuthenticationOk, and nothing after it.
//
// An unknown role gets the same exchange as a known one with a wrong password.
package auth

import (
	"crypto/rand"
	"crypto/tls"
	"net"
	"time"

	"ostraka/engine/catalog"
	"ostraka/engine/catalog/scram"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Method of authentication.
type Method uint8

const (
	Reject Method = iota
	Trust
	SCRAM
	MD5
	Password
)

// Client is what is known about a connection before it is authenticated.
type Client struct {
	User, Database string
	Remote         net.Addr
	TLS            *tls.ConnectionState // nil without TLS
}

// Policy chooses the method for a client (what pg_hba.conf does).
type Policy func(c Client) Method

// TrustLoopback trusts clients on this machine and asks others for SCRAM.
func TrustLoopback(c Client) Method {
	if c.Loopback() {
		return Trust
	}
	return SCRAM
}

// Loopback reports a connection from this machine.
func (c Client) Loopback() bool {
	switch a := c.Remote.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// Accounts finds roles; nil for an unknown one.
type Accounts interface {
	Role(name string) *catalog.Role
}

// Exchange talks to the client: Receive returns the body of the next 'p' message.
type Exchange struct {
	Out     *wire.Out
	Receive func() ([]byte, error)
	Now     func() time.Time
	// ServerCert is the certificate of the TLS connection (DER), for channel binding.
	ServerCert []byte
}

// pgEpoch is 2000-01-01 UTC.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Authenticate runs the exchange and returns the role. Errors are FATAL, to be
// sent to the client; AuthenticationOk is left to the caller.
func Authenticate(x Exchange, c Client, method Method, accounts Accounts) (*catalog.Role, error) {
	if c.User == "" {
		return nil, fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet"))
	}
	role := accounts.Role(c.User)
	switch method {
	case Trust:
		if role == nil {
			return nil, fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, `role "%s" does not exist`, c.User))
		}
	case SCRAM, MD5, Password:
		stored := ""
		if role != nil {
			stored = role.Password
			if role.ValidUntil != 0 && pgEpoch.Add(time.Duration(role.ValidUntil)*time.Microsecond).Before(x.Now()) {
				stored = ""
			}
		}
		if method == MD5 && !scram.IsMD5(stored) {
			method = SCRAM // as PostgreSQL: md5 in the configuration allows SCRAM verifiers
		}
		ok, err := passwordExchange(x, c, method, stored)
		if err != nil {
			return nil, err
		}
		if !ok || role == nil {
			return nil, fatal(pgerror.New(pgerror.InvalidPassword, `password authentication failed for user "%s"`, c.User))
		}
	default:
		enc := "no encryption"
		if c.TLS != nil {
			enc = "SSL encryption"
		}
		return nil, fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, `pg_hba.conf rejects connection for host "%s", user "%s", database "%s", %s`,
			host(c.Remote), c.User, c.Database, enc))
	}
	if !role.Login {
		return nil, fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, `role "%s" is not permitted to log in`, c.User))
	}
	return role, nil
}

func host(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return "[local]"
}

func passwordExchange(x Exchange, c Client, method Method, stored string) (bool, error) {
	switch method {
	case SCRAM:
		return scramExchange(x, c, stored)
	case MD5:
		salt := make([]byte, 4)
		if _, err := rand.Read(salt); err != nil {
			return false, err
		}
		x.Out.Authentication(5, salt)
		answer, err := receivePassword(x)
		if err != nil {
			return false, err
		}
		return md5Matches(stored, salt, answer), nil
	}
	x.Out.Authentication(3, nil)
	answer, err := receivePassword(x)
	if err != nil {
		return false, err
	}
	return scram.Matches(stored, c.User, answer), nil
}

func receivePassword(x Exchange) (string, error) {
	x.Out.Flush()
	body, err := x.Receive()
	if err != nil {
		return "", err
	}
	f := wire.NewFields(body)
	s := string(f.CString())
	if err := f.End(); err != nil {
		return "", fatal(pgerror.New(pgerror.ProtocolViolation, "invalid password packet size"))
	}
	if s == "" {
		return "", fatal(pgerror.New(pgerror.InvalidPassword, "empty password returned by client"))
	}
	return s, nil
}

func fatal(e *pgerror.Error) *pgerror.Error {
	e.Severity = "FATAL"
	return e
}
