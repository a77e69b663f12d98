package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ostraka/raft"
)

// httpServer serves /health, /ready, /metrics, the time-series protocols and, on
// loopback, Go's profiles.
type httpServer struct {
	srv  *http.Server
	l    net.Listener
	done chan struct{}
}

func startHTTP(n *Node) (*httpServer, error) {
	l, err := net.Listen("tcp", n.cfg.HTTP)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /raft", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(n.group.Metrics()) // the client is gone when it fails
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(newMetrics(n), promhttp.HandlerOpts{}))
	if err := n.serveProtocols(mux); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if n.faults != nil && isLoopback(n.cfg.HTTP) {
		mux.HandleFunc("POST /test/faults", n.serveFaults)
	}
	if isLoopback(n.cfg.HTTP) {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	h := &httpServer{l: l, done: make(chan struct{}), srv: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10}}
	go func() {
		defer close(h.done)
		if err := h.srv.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.fatal(fmt.Errorf("HTTP listener: %w", err))
		}
	}()
	return h, nil
}

// serveFaults sets this node's matrix of network faults: the body is a
// raft.FaultsCall, the answer a raft.FaultsReply. It exists only on loopback and
// only where the node was started for tests (Config.FaultInjection).
func (n *Node) serveFaults(w http.ResponseWriter, r *http.Request) {
	var q raft.FaultsCall
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if q.Heal {
		n.faults.Heal()
	}
	n.faults.Set(q.Edges...)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(raft.FaultsReply{Hits: n.faults.Hits()}) // the client is gone when it fails
}

func (h *httpServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := h.srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.srv.Close()
	}
	<-h.done
	return err
}
