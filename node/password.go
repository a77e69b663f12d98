package node

import (
	"context"
	"fmt"
	"os"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog/scram"
)

// setInitialPassword gives the superuser of a new cluster the configured password.
func (n *Node) setInitialPassword(ctx context.Context) error {
	if n.cfg.SuperuserPasswordFile == "" {
		return nil
	}
	b, err := os.ReadFile(n.cfg.SuperuserPasswordFile)
	if err != nil {
		return fmt.Errorf("superuser-password-file: %w", err)
	}
	verifier, err := scram.Encrypt(strings.TrimRight(string(b), "\r\n"))
	if err != nil {
		return fmt.Errorf("superuser-password-file: %w", err)
	}
	tx, err := n.shard.Begin(ctx, engine.TxnOptions{Database: postgresDB})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.StartStatement(ctx); err != nil {
		return err
	}
	role := *tx.Catalog().RoleByName(n.cfg.Superuser)
	role.Password = verifier
	tx.Schema().PutRole(&role)
	_, err = tx.Commit(ctx)
	return err
}
