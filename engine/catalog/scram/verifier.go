// Package scram owns the password verifiers that catalog.Role.Password holds:
// SCRAM-SHA-256 (RFC 5802, RFC 7677) in PostgreSQL's text form
//
//	SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>
//
// and "md5" followed by md5(password || role). It makes and checks them; the
// exchange with a client is pgfront/auth's.
package scram

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/stringprep"
)

// DefaultIterations is PostgreSQL's count.
const DefaultIterations = 4096

const prefix = "SCRAM-SHA-256$"

// Verifier is a parsed SCRAM-SHA-256 verifier.
type Verifier struct {
	Iterations int
	Salt       []byte
	StoredKey  []byte // 32 bytes
	ServerKey  []byte // 32 bytes
}

// Make derives a verifier with a random salt.
func Make(password string) (Verifier, error) {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return Verifier{}, err
	}
	return MakeWith(password, salt, DefaultIterations)
}

// MakeWith derives a verifier with a given salt.
func MakeWith(password string, salt []byte, iterations int) (Verifier, error) {
	salted, err := pbkdf2.Key(sha256.New, Prepare(password), salt, iterations, sha256.Size)
	if err != nil {
		return Verifier{}, err
	}
	client := HMAC(salted, []byte("Client Key"))
	stored := sha256.Sum256(client)
	return Verifier{iterations, salt, stored[:], HMAC(salted, []byte("Server Key"))}, nil
}

// Prepare normalises a password by SASLprep; what SASLprep refuses stays as it is, as in PostgreSQL.
func Prepare(password string) string {
	if p, err := stringprep.SASLprep.Prepare(password); err == nil {
		return p
	}
	return password
}

// HMAC is HMAC-SHA-256.
func HMAC(key, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return h.Sum(nil)
}

func (v Verifier) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s%d:%s$%s:%s", prefix, v.Iterations, b64(v.Salt), b64(v.StoredKey), b64(v.ServerKey))
}

// Parse reads the text form; ok is false for anything else.
func Parse(s string) (v Verifier, ok bool) {
	rest, found := strings.CutPrefix(s, prefix)
	if !found {
		return v, false
	}
	head, keys, ok1 := strings.Cut(rest, "$")
	iter, salt, ok2 := strings.Cut(head, ":")
	stored, server, ok3 := strings.Cut(keys, ":")
	if !ok1 || !ok2 || !ok3 {
		return v, false
	}
	var err error
	if v.Iterations, err = strconv.Atoi(iter); err != nil || v.Iterations < 1 {
		return v, false
	}
	for _, p := range []struct {
		dst *[]byte
		src string
	}{{&v.Salt, salt}, {&v.StoredKey, stored}, {&v.ServerKey, server}} {
		if *p.dst, err = base64.StdEncoding.DecodeString(p.src); err != nil {
			return v, false
		}
	}
	return v, len(v.StoredKey) == sha256.Size && len(v.ServerKey) == sha256.Size
}

// Encrypt makes what CREATE ROLE … PASSWORD stores: a verifier is kept as given, anything else is hashed.
func Encrypt(password string) (string, error) {
	if _, ok := Parse(password); ok || IsMD5(password) {
		return password, nil
	}
	v, err := Make(password)
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// IsMD5 reports an md5 verifier.
func IsMD5(s string) bool {
	return len(s) == 35 && strings.HasPrefix(s, "md5") && strings.Trim(s[3:], "0123456789abcdef") == ""
}

// MD5 is the md5 verifier of a role's password.
func MD5(role, password string) string {
	sum := md5.Sum([]byte(password + role))
	return "md5" + hex.EncodeToString(sum[:])
}

// Matches checks a clear-text password against a stored verifier of either kind.
func Matches(stored, role, password string) bool {
	if v, ok := Parse(stored); ok {
		w, err := MakeWith(password, v.Salt, v.Iterations)
		return err == nil && subtle.ConstantTimeCompare(w.StoredKey, v.StoredKey) == 1
	}
	return IsMD5(stored) && subtle.ConstantTimeCompare([]byte(MD5(role, password)), []byte(stored)) == 1
}
