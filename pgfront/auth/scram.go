package auth

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"ostraka/engine/catalog/scram"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// md5Matches compares "md5" + md5(md5(password || role) || salt).
func md5Matches(stored string, salt []byte, answer string) bool {
	if !scram.IsMD5(stored) {
		return false
	}
	sum := md5.Sum(append([]byte(stored[3:]), salt...))
	return subtle.ConstantTimeCompare([]byte("md5"+hex.EncodeToString(sum[:])), []byte(answer)) == 1
}

// mockKey makes the salts of unknown roles stable while the process lives.
var mockKey = func() []byte {
	k := make([]byte, 32)
	_, _ = rand.Read(k)
	return k
}()

func malformed(detail string) error {
	return fatal(pgerror.New(pgerror.ProtocolViolation, "malformed SCRAM message").WithDetail("%s", detail))
}

// scramExchange is the server's side of RFC 5802 with the verifier stored; an
// unusable one leads to a failure after the full exchange.
func scramExchange(x Exchange, c Client, stored string) (bool, error) {
	v, usable := scram.Parse(stored)
	if !usable {
		v = scram.Verifier{Iterations: scram.DefaultIterations, Salt: scram.HMAC(mockKey, []byte(c.User))[:16],
			StoredKey: make([]byte, 32), ServerKey: make([]byte, 32)}
	}
	plus := c.TLS != nil && len(x.ServerCert) > 0
	var mechs []byte
	if plus {
		mechs = append(mechs, "SCRAM-SHA-256-PLUS\x00"...)
	}
	mechs = append(mechs, "SCRAM-SHA-256\x00\x00"...)
	x.Out.Authentication(10, mechs)
	x.Out.Flush()

	body, err := x.Receive()
	if err != nil {
		return false, err
	}
	f := wire.NewFields(body)
	mech := string(f.CString())
	first, null := f.Value()
	if f.End() != nil || null {
		return false, malformed("The initial response is missing.")
	}
	usePlus := mech == "SCRAM-SHA-256-PLUS" && plus
	if mech != "SCRAM-SHA-256" && !usePlus {
		return false, fatal(pgerror.New(pgerror.ProtocolViolation, "client selected an invalid SASL authentication mechanism"))
	}
	gs2, bare, err := splitFirst(string(first), usePlus, plus)
	if err != nil {
		return false, err
	}
	nonce := make([]byte, 18)
	if _, err := rand.Read(nonce); err != nil {
		return false, err
	}
	clientNonce, err := nonceOf(bare)
	if err != nil {
		return false, err
	}
	full := clientNonce + base64.StdEncoding.EncodeToString(nonce)
	serverFirst := "r=" + full + ",s=" + base64.StdEncoding.EncodeToString(v.Salt) + ",i=" + strconv.Itoa(v.Iterations)
	x.Out.Authentication(11, []byte(serverFirst))
	x.Out.Flush()

	body, err = x.Receive()
	if err != nil {
		return false, err
	}
	final := string(body)
	at := strings.LastIndex(final, ",p=")
	if at < 0 {
		return false, malformed("The proof is missing.")
	}
	withoutProof := final[:at]
	proof, err := base64.StdEncoding.DecodeString(final[at+3:])
	if err != nil || len(proof) != sha256.Size {
		return false, malformed("Malformed proof in client-final-message.")
	}
	binding := []byte(gs2)
	if usePlus {
		hash, err := endpointHash(x.ServerCert)
		if err != nil {
			return false, err
		}
		binding = append(binding, hash...)
	}
	attrs := strings.Split(withoutProof, ",")
	if len(attrs) < 2 || !strings.HasPrefix(attrs[0], "c=") || !strings.HasPrefix(attrs[1], "r=") {
		return false, malformed("Malformed client-final-message.")
	}
	if attrs[0][2:] != base64.StdEncoding.EncodeToString(binding) {
		if usePlus {
			return false, fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, "SCRAM channel binding check failed"))
		}
		return false, fatal(pgerror.New(pgerror.ProtocolViolation, "unexpected SCRAM channel-binding attribute in client-final-message"))
	}
	if attrs[1][2:] != full {
		return false, fatal(pgerror.New(pgerror.ProtocolViolation, "invalid SCRAM response").WithDetail("Nonce does not match."))
	}
	message := []byte(bare + "," + serverFirst + "," + withoutProof)
	signature := scram.HMAC(v.StoredKey, message)
	for i := range proof {
		proof[i] ^= signature[i]
	}
	key := sha256.Sum256(proof)
	if subtle.ConstantTimeCompare(key[:], v.StoredKey) != 1 || !usable {
		return false, nil
	}
	x.Out.Authentication(12, []byte("v="+base64.StdEncoding.EncodeToString(scram.HMAC(v.ServerKey, message))))
	return true, nil
}

// splitFirst cuts the GS2 header off client-first-message and checks its channel-binding flag.
func splitFirst(first string, usePlus, offered bool) (gs2, bare string, err error) {
	flag, rest, ok := strings.Cut(first, ",")
	if !ok {
		return "", "", malformed("The header is incomplete.")
	}
	switch {
	case flag == "n" || flag == "y":
		if usePlus {
			return "", "", malformed("The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.")
		}
		if flag == "y" && offered {
			return "", "", fatal(pgerror.New(pgerror.InvalidAuthorizationSpecification, "SCRAM channel binding negotiation error").
				WithDetail("The client supports SCRAM channel binding but thinks the server does not.  However, this server does support channel binding."))
		}
	case strings.HasPrefix(flag, "p="):
		if !usePlus {
			return "", "", malformed("The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.")
		}
		if flag != "p=tls-server-end-point" {
			return "", "", fatal(pgerror.New(pgerror.ProtocolViolation, "unsupported SCRAM channel-binding type \"%s\"", flag[2:]))
		}
	default:
		return "", "", malformed("Unexpected channel-binding flag.")
	}
	authz, bare, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", malformed("The header is incomplete.")
	}
	if authz != "" {
		return "", "", fatal(pgerror.New(pgerror.FeatureNotSupported, "client uses authorization identity, but it is not supported"))
	}
	return flag + ",,", bare, nil
}

// nonceOf finds the client's nonce in client-first-message-bare; the user name in it is ignored, as PostgreSQL does.
func nonceOf(bare string) (string, error) {
	if strings.HasPrefix(bare, "m=") {
		return "", fatal(pgerror.New(pgerror.FeatureNotSupported, "client requires an unsupported SCRAM extension"))
	}
	user, rest, _ := strings.Cut(bare, ",")
	nonce, _, _ := strings.Cut(rest, ",")
	if !strings.HasPrefix(user, "n=") || !strings.HasPrefix(nonce, "r=") || len(nonce) < 3 || len(nonce) > 256 {
		return "", malformed("Malformed client-first-message.")
	}
	for i := 2; i < len(nonce); i++ {
		if nonce[i] < 0x21 || nonce[i] > 0x7e {
			return "", fatal(pgerror.New(pgerror.ProtocolViolation, "non-printable characters in SCRAM nonce"))
		}
	}
	return nonce[2:], nil
}

// endpointHash is the tls-server-end-point channel binding (RFC 5929): the
// certificate's hash by its signature's algorithm, SHA-256 instead of MD5 and SHA-1.
func endpointHash(der []byte) ([]byte, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		h := sha512.Sum384(der)
		return h[:], nil
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		h := sha512.Sum512(der)
		return h[:], nil
	}
	h := sha256.Sum256(der)
	return h[:], nil
}
