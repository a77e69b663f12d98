package engine

import (
	"context"
	"errors"
	"time"

	"ostraka/sqltypes/pgerror"
)

// confirmTimeout bounds the wait for a position that the leader has confirmed.
const confirmTimeout = 10 * time.Second

// Confirm waits until the applied state has everything that was acknowledged, on any
// node, before the call. The error is 57P03 when no majority confirms it or this node
// does not catch up; a deposed leader gets there, with or without knowing.
func Confirm(ctx context.Context, e Engine) error {
	pos, err := e.Log().ReadBarrier(ctx)
	if err == nil && e.Applied().Less(pos) {
		wait, cancel := context.WithTimeout(ctx, confirmTimeout)
		defer cancel()
		err = e.WaitApplied(wait, pos)
	}
	return Unconfirmed(ctx, err)
}

// Unconfirmed is the error (57P03) of a read that cannot be proven to be as new as it
// must be. Errors that have a code, or that come of the end of ctx, stay.
func Unconfirmed(ctx context.Context, err error) error {
	var pe *pgerror.Error
	if err == nil || errors.As(err, &pe) || ctx.Err() != nil {
		return err
	}
	return pgerror.Wrap(err, pgerror.CannotConnectNow, "the read cannot be confirmed as current").
		WithDetail("No majority of the nodes answers, or this node cannot catch up with it.").
		WithHint("Reads with ostraka.read_consistency = local still work; try again when a majority of the nodes is up.")
}
