package transport

import (
	"sync"

	hraft "github.com/hashicorp/raft"
)

// AppendEntriesPipeline opens a pipeline to a follower. On an edge with a fault
// rule there is none: raft then sends one request at a time, each through the
// matrix.
func (t *Transport) AppendEntriesPipeline(id hraft.ServerID, addr hraft.ServerAddress) (hraft.AppendPipeline, error) {
	if f := t.cfg.Faults; f != nil {
		if _, ok, _ := f.rule(t.cfg.NodeID, string(id)); ok {
			return nil, hraft.ErrPipelineReplicationNotSupported
		}
	}
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, addr)
	if err != nil {
		return nil, err
	}
	p := &pipeline{AppendPipeline: inner, t: t, id: id, sent: make(chan hraft.AppendFuture, 16), stop: make(chan struct{})}
	t.wg.Add(1)
	if t.cfg.Faults != nil {
		p.out = make(chan hraft.AppendFuture)
		go p.relay()
	} else {
		go p.watch()
	}
	return p, nil
}

// pipeline notes what its replies acknowledge.
type pipeline struct {
	hraft.AppendPipeline
	t    *Transport
	id   hraft.ServerID
	sent chan hraft.AppendFuture // without a fault matrix: futures in order
	out  chan hraft.AppendFuture // with one: replies that were not lost
	stop chan struct{}
	once sync.Once
}

func (p *pipeline) AppendEntries(q *hraft.AppendEntriesRequest, r *hraft.AppendEntriesResponse) (hraft.AppendFuture, error) {
	p.t.clamp(q)
	if p.broken() {
		return nil, ErrInjected
	}
	f, err := p.AppendPipeline.AppendEntries(q, r)
	if err == nil && p.out == nil {
		select {
		case p.sent <- f:
		case <-p.stop:
		}
	}
	return f, err
}

func (p *pipeline) Consumer() <-chan hraft.AppendFuture {
	if p.out != nil {
		return p.out
	}
	return p.AppendPipeline.Consumer()
}

func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.stop) })
	return p.AppendPipeline.Close()
}

// watch notes replies beside raft's own way, so that raft does not wait for it.
// The inner pipeline answers every future it has accepted, also when it closes.
func (p *pipeline) watch() {
	defer p.t.wg.Done()
	for {
		select {
		case f := <-p.sent:
			if f.Error() == nil {
				p.t.replied(p.id, f.Request(), f.Response(), f.Start())
			}
		case <-p.stop:
			return
		}
	}
}

// broken reports whether a fault rule has appeared on the edge.
func (p *pipeline) broken() bool {
	f := p.t.cfg.Faults
	if f == nil {
		return false
	}
	_, ok, _ := f.rule(p.t.cfg.NodeID, string(p.id))
	return ok
}

// relay passes replies on unless the edge has a rule by now: then the pipeline is broken.
func (p *pipeline) relay() {
	defer p.t.wg.Done()
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			if p.broken() {
				p.t.cfg.Faults.hits.Add(1)
				p.Close()
				return
			}
			if f.Error() == nil {
				p.t.replied(p.id, f.Request(), f.Response(), f.Start())
			}
			select {
			case p.out <- f:
			case <-p.stop:
				return
			}
		case <-p.stop:
			return
		}
	}
}
