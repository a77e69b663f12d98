package shard

import (
	"context"
	"errors"
	"os"

	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/engine/txn"
	"ostraka/sqltypes/pgerror"
)

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

func errNotLeader() error {
	return pgerror.Wrap(engine.ErrNotLeader, pgerror.ReadOnlySqlTransaction, "this node does not lead the shard")
}

// errTermOver is what a transaction gets whose term has ended.
func errTermOver() error {
	return pgerror.Wrap(engine.ErrNotLeader, pgerror.TRSerializationFailure,
		"could not serialize access because the leadership of the shard has changed").
		WithHint("The transaction might succeed if retried.")
}

func errConcurrentUpdate() error {
	return pgerror.New(pgerror.TRSerializationFailure, "could not serialize access due to concurrent update")
}

func errConcurrentDelete() error {
	return pgerror.New(pgerror.TRSerializationFailure, "could not serialize access due to concurrent delete")
}

func errStale(rel string) error {
	return pgerror.Wrap(engine.ErrStale, pgerror.TRSerializationFailure,
		"could not serialize access because relation %q has changed", rel)
}

func errSnapshotTooOld() error { return pgerror.New(pgerror.SnapshotTooOld, "snapshot too old") }

func errReadOnly() error {
	return pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot write in a read-only transaction")
}

func errFinished() error {
	return pgerror.New(pgerror.NoActiveSqlTransaction, "the transaction has ended")
}

func errNoDatabase() error {
	return pgerror.New(pgerror.UndefinedDatabase, "the database does not exist")
}

// proposeError turns an outcome of Propose into what the client is told.
func proposeError(ctx context.Context, err error) error {
	var pe *pgerror.Error
	switch {
	case errors.Is(err, commitlog.ErrAmbiguous):
		return pgerror.Wrap(err, pgerror.TRStatementCompletionUnknown, "the outcome of the transaction is not known").
			WithDetail("The commit was sent to the log and was not confirmed.")
	case errors.Is(err, commitlog.ErrTooLarge):
		return pgerror.Wrap(err, pgerror.ProgramLimitExceeded, "transaction is too large")
	case errors.As(err, &pe):
		return err
	case errors.Is(err, commitlog.ErrNotAppended), errors.Is(err, commitlog.ErrRefused):
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := errTermOver()
		return pgerror.Wrap(errors.Join(err, engine.ErrNotLeader), pgerror.TRSerializationFailure, "%s", e.(*pgerror.Error).Message).
			WithHint("The transaction might succeed if retried.")
	}
	// Unknown to us: it may have happened.
	return pgerror.Wrap(err, pgerror.TRStatementCompletionUnknown, "the outcome of the transaction is not known")
}

// errUnknownOutcome names the transaction to ask about.
func errUnknownOutcome(err error, xid uint64) error {
	return pgerror.Wrap(err, pgerror.TRStatementCompletionUnknown, "the outcome of the transaction is not known").
		WithDetail("The commit of transaction %d was sent to the log and was not confirmed.", xid).
		WithHint("SELECT pg_xact_status('%d') tells the outcome once a majority of the nodes is up.", xid)
}

func errTokenUsed(token string, xid uint64) error {
	return pgerror.New(pgerror.UniqueViolation, "a transaction with ostraka.transaction_id %q has committed already", token).
		WithDetail("It was transaction %d. Nothing of this one was done.", xid)
}

// ambiguous reports whether the entry may have been, or may yet be, applied.
func ambiguous(err error) bool {
	return !errors.Is(err, commitlog.ErrNotAppended) && !errors.Is(err, commitlog.ErrRefused) && !errors.Is(err, commitlog.ErrTooLarge)
}

func lockError(err error) error {
	if errors.Is(err, txn.ErrTermOver) {
		return errTermOver()
	}
	return err
}
