package node

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// secretName is the file of the data directory that holds the cluster's join secret.
const secretName = "cluster.secret"

// openSecret finds the join secret: in --secret-file, or in the data directory, where
// the first node of a cluster makes it. A node that already belongs to a cluster never
// makes one: nobody would know it.
func (n *Node) openSecret() (err error) {
	if file := n.cfg.SecretFile; file != "" {
		if n.secret, err = readSecret(file); err != nil {
			return err
		}
		if _, err := os.Stat(n.dir.path(secretName)); errors.Is(err, fs.ErrNotExist) && n.ident.ID() != "" {
			return n.dir.write(secretName, string(n.secret))
		}
		return nil
	}
	n.secret, err = readSecret(n.dir.path(secretName))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case len(n.cfg.Join) > 0:
		return fmt.Errorf("joining a cluster needs its secret: copy cluster.secret of a member to %s or give --secret-file", n.dir.path(secretName))
	case n.ident.ID() != "":
		return fmt.Errorf("the node belongs to a cluster and lacks its join secret: copy cluster.secret of a member to %s or give --secret-file", n.dir.path(secretName))
	}
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		return err
	}
	n.secret = []byte(hex.EncodeToString(b))
	return n.dir.write(secretName, string(n.secret))
}

// keepSecret puts the secret in force into the data directory, so that the node starts
// without --secret-file from now on.
func (n *Node) keepSecret() error {
	if have, err := readSecret(n.dir.path(secretName)); err == nil && bytes.Equal(have, n.secret) {
		return nil
	}
	return n.dir.write(secretName, string(n.secret))
}

func readSecret(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("secret file: %w", err)
	}
	s := strings.TrimSpace(string(b))
	if len(s) < 16 {
		return nil, fmt.Errorf("secret file %s: a join secret has at least 16 characters", file)
	}
	return []byte(s), nil
}
