package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ostraka/torture/cluster"
)

// patience is how much longer than planned a fault may last, or wait for the nodes
// it is for.
const patience = time.Minute

// window is the time for which a fault lasts. A fault that acts on operations (a
// slow disk on syncs, a cut link on messages) has occurred only when it has met
// one on every node it is for. One whose planned time has seen none is not given
// up: it stays until it has, and the operation is provoked.
type window struct {
	length time.Duration // as planned
	extra  time.Duration // longer at most
	// met reports whether the fault has met an operation on the node.
	met func(ctx context.Context, x *cluster.Node) (bool, error)
	// provoke causes an operation for it to meet; nil: it comes by itself.
	provoke func(ctx context.Context, x *cluster.Node) error
}

// provokeEvery is between two looks; provokeLimit bounds what is done to provoke.
const (
	provokeEvery = 100 * time.Millisecond
	provokeLimit = 5 * time.Second
)

// stayOpen returns when the window is over; the error is that the fault did not
// occur, and why.
func (w window) stayOpen(ctx context.Context, nodes []*cluster.Node) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.length):
	}
	late, cancel := context.WithTimeoutCause(ctx, w.extra, fmt.Errorf("not met within %v more than planned", w.extra))
	defer cancel()
	for _, x := range nodes {
		if err := w.await(late, x); err != nil {
			return fmt.Errorf("node %s: %w", x.ID, err)
		}
	}
	return nil
}

// await waits until the fault has met something on x.
func (w window) await(ctx context.Context, x *cluster.Node) error {
	for {
		met, err := w.met(ctx, x)
		if met && err == nil {
			return nil
		}
		if w.provoke != nil && ctx.Err() == nil {
			one, cancel := context.WithTimeout(ctx, provokeLimit)
			err = errors.Join(err, w.provoke(one, x))
			cancel()
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(provokeEvery):
		}
	}
}
