package shard

import "context"

// waitSafe takes a snapshot that no serializable transaction can spoil (SERIALIZABLE
// READ ONLY DEFERRABLE): one of which all that ran when it was taken have ended
// without having read what others had overwritten before it. Until one is found it
// waits; then the transaction reads without being tracked.
func (t *Txn) waitSafe(ctx context.Context) error {
	for {
		if err := t.ensure(); err != nil {
			return err
		}
		good := true
		for _, rival := range t.reads.Rivals() {
			select {
			case <-rival.Done():
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-t.term.over:
				return errTermOver()
			}
			if bad, known := rival.Spoils(t.reads); bad && !known {
				return t.reads.Fail()
			} else if bad {
				good = false
				break
			}
		}
		t.reads.Abort()
		t.reads = nil
		if good {
			t.safe = true
			return nil
		}
		t.view.Close()
	}
}
