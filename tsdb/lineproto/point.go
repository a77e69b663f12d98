package lineproto

import (
	"bytes"
	"fmt"
)

// Kind is the type of a field's value.
type Kind uint8

const (
	Float Kind = iota + 1
	Int        // 1i
	Uint       // 1u, at most the largest int64
	Bool
	String
)

// String is InfluxDB's name of the kind.
func (k Kind) String() string {
	switch k {
	case Float:
		return "float"
	case Int:
		return "integer"
	case Uint:
		return "unsigned"
	case Bool:
		return "boolean"
	}
	return "string"
}

// Tag is one tag of a point.
type Tag struct{ Key, Value []byte }

// Field is one field of a point.
type Field struct {
	Key  []byte
	Kind Kind
	F    float64
	I    int64 // also booleans, as 0 and 1
	S    []byte
}

// Point is one line.
type Point struct {
	Line        int // from 1
	Series      []byte
	Measurement []byte
	Tags        []Tag // as written; keys are unique
	Fields      []Field
	Time        int64 // nanoseconds since 1970
	Timed       bool  // the line has a time
}

// LineError says what is wrong with a line.
type LineError struct {
	Line   int
	Text   string // the line, cut short when it is long
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: unable to parse '%s': %s", e.Line, e.Text, e.Reason)
}

const shownLine = 200

func lineError(n int, line []byte, reason string) *LineError {
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	text := string(bytes.ToValidUTF8(line[:min(len(line), shownLine)], []byte("\uFFFD")))
	if len(line) > shownLine {
		text += "…"
	}
	return &LineError{Line: n, Text: text, Reason: reason}
}
