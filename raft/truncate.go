package raft

// runTruncator removes from the log what the state no longer needs: never an
// entry at or above what the state has flushed, never one at or above the end of
// a checkpoint on its way to a follower, and not the trailing part by which
// followers who were away for a while catch up.
//
// The entry at the end of a checkpoint must stay too: raft names its term as that
// of the previous entry when it sends the first one after the checkpoint, and
// without it would send the checkpoint again, for ever.
func (g *Group) runTruncator() {
	for {
		changed := g.cfg.Applier.DurableChanged()
		if err := g.truncateLog(); err != nil {
			g.log.Warn("truncating the log", "error", err)
		}
		select {
		case <-changed:
		case <-g.truncate:
		case <-g.stop:
			return
		}
	}
}

// retainFactor bounds the log kept for checkpoints on their way, in multiples of
// TrailingBytes; beyond it the follower must take a newer checkpoint.
const retainFactor = 16

func (g *Group) truncateLog() error {
	durable := max(g.cfg.Applier.Durable().Position.Index, g.durableAt.Load())
	start := g.store.TrailingStart(g.cfg.TrailingEntries, g.cfg.TrailingBytes)
	if start == 0 || durable == 0 {
		return nil
	}
	hi := min(durable, start) - 1
	if floor, ok := g.snaps.Floor(); ok && g.store.Bytes() < retainFactor*g.cfg.TrailingBytes {
		hi = min(hi, max(floor, 1)-1)
	}
	first, err := g.store.FirstIndex()
	if err != nil {
		return err
	}
	// A range deletion per flush is cheap, one per entry is not.
	if hi < first || hi-first+1 < max(1, g.cfg.TrailingEntries/16) {
		return nil
	}
	return g.store.DeleteRange(first, hi)
}
