package node

import (
	"io"
	"log/slog"
)

// newLogger writes to w in the configured level and format.
func newLogger(w io.Writer, cfg Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // Validate has checked it
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: plainError}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.LogFormat == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(h).With("node", cfg.NodeID)
}

// plainError leaves the text of an error: slog's text format would print the stack that
// errors of the store carry.
func plainError(_ []string, a slog.Attr) slog.Attr {
	if err, is := a.Value.Any().(error); is {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}
