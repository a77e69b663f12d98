package raft

// runTruncator removes from the log what the state no longer needs: never an
// entry above what the state has flushed, never one that a checkpoint on its way
// to a follower will need next, and not the trailing part by which followers who
// were away for a while catch up.
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

func (g *Group) truncateLog() error {
	durable := max(g.cfg.Applier.Durable().Position.Index, g.durableAt.Load())
	start := g.store.TrailingStart(g.cfg.TrailingEntries, g.cfg.TrailingBytes)
	if start == 0 {
		return nil
	}
	hi := min(durable, start-1)
	if floor, ok := g.snaps.Floor(); ok {
		hi = min(hi, floor)
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
