package router

import (
	"fmt"
	"os"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/engine/catalog/scram"
)

// users are the users of the auth file. Clients prove with SCRAM that they know
// the password; the router then logs in to the servers as the same user with it.
// That needs the password itself: what SCRAM shows to the router does not let it
// log in elsewhere.
type users map[string]user

type user struct {
	role     *catalog.Role // with the verifier
	password string
}

// readUsers reads lines "user:password"; empty lines and lines that begin with # are skipped.
func readUsers(path string) (users, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("auth-file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("auth-file: %s has passwords and may be read by others (mode %04o): chmod 600", path, mode)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("auth-file: %w", err)
	}
	out := users{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		name, password, ok := strings.Cut(line, ":")
		if !ok || name == "" || password == "" {
			return nil, fmt.Errorf("auth-file: line %d of %s is not user:password", i+1, path)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("auth-file: line %d of %s: user %s is there twice", i+1, path, name)
		}
		v, err := scram.Make(password)
		if err != nil {
			return nil, fmt.Errorf("auth-file: line %d of %s: %w", i+1, path, err)
		}
		out[name] = user{role: &catalog.Role{Name: name, Login: true, Password: v.String()}, password: password}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("auth-file: %s has no users", path)
	}
	return out, nil
}

// Role implements auth.Accounts. Without an auth file every name is taken as
// given: the servers decide whether it may log in.
func (u users) Role(name string) *catalog.Role {
	if u == nil {
		return &catalog.Role{Name: name, Login: true}
	}
	return u[name].role
}
