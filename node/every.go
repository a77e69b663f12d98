package node

import "time"

// every calls f each interval until the node stops; n.wg counts it.
func (n *Node) every(interval time.Duration, f func()) {
	defer n.wg.Done()
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-t.C:
			f()
		}
	}
}
