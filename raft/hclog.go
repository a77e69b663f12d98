package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"
)

// newHclog bridges hashicorp/raft's log to slog, one step milder: what raft
// calls an error (a heartbeat that failed) does not need a person.
func newHclog(to *slog.Logger, group uint32) hclog.Logger {
	level := hclog.Warn
	if to.Enabled(context.Background(), slog.LevelDebug) {
		level = hclog.Info
	}
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: level, Output: io.Discard})
	l.RegisterSink(slogSink{to: to.With("group", group), level: level})
	return l
}

type slogSink struct {
	to    *slog.Logger
	level hclog.Level
}

func (s slogSink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if level < s.level {
		return
	}
	var to slog.Level
	switch level {
	case hclog.Error:
		to = slog.LevelWarn
	case hclog.Warn:
		to = slog.LevelInfo
	default:
		to = slog.LevelDebug
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
		if err, ok := a.(error); ok && errors.Is(err, net.ErrClosed) {
			to = slog.LevelDebug // the connection was closed on this side: the node stops
		}
	}
	s.to.Log(context.Background(), to, "raft: "+msg, args...)
}

// quietMetrics turns go-metrics off: hashicorp/raft measures every call, and the
// default sink builds strings for each.
var quietMetrics = sync.OnceFunc(func() {
	cfg := metrics.DefaultConfig("ostraka")
	cfg.EnableHostname = false
	cfg.EnableRuntimeMetrics = false
	metrics.NewGlobal(cfg, &metrics.BlackholeSink{})
})
