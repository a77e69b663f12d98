package node

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// stacked is an error that prints a stack when it is asked for details (%+v).
type stacked struct{ error }

func (s stacked) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%v\nlogger_test.go:1", s.error) }

// An error takes one line of the log, whatever it carries.
func TestLogErrors(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		newLogger(&b, Config{LogLevel: "info", LogFormat: format}).Error("the node stops", "error", stacked{errors.New("flush: no space left")})
		if s := b.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "flush: no space left") || strings.Contains(s, "logger_test") {
			t.Errorf("%s: %s", format, s)
		}
	}
}
