package parse

import (
	"errors"
	"strings"

	"github.com/pganalyze/pg_query_go/v5/parser"

	"ostraka/sqltypes/pgerror"
)

// errorCodes are the SQLSTATEs of the grammar's errors that are not 42601, by
// the start (or, with a leading *, a part) of the message: the parser library reports texts only.
var errorCodes = []struct {
	text string
	code pgerror.Code
	hint string
}{
	{"invalid byte sequence for encoding", pgerror.CharacterNotInRepertoire, ""},
	{"invalid Unicode escape character", pgerror.SyntaxError, ""},
	{"invalid Unicode escape value", pgerror.SyntaxError, ""},
	{"invalid Unicode escape", pgerror.InvalidEscapeSequence, `Unicode escapes must be \XXXX or \+XXXXXX.`},
	{"invalid Unicode surrogate pair", pgerror.SyntaxError, ""},
	{"unsafe use of \\' in a string literal", pgerror.NonstandardUseOfEscapeCharacter, `Use '' to write quotes in strings. \' is insecure in client-only encodings.`},
	{"precision for type float", pgerror.InvalidParameterValue, ""},
	{"stack depth limit exceeded", pgerror.StatementTooComplex, ""},
	{"memory exhausted", pgerror.SyntaxError, ""},
	{"subquery in FROM must have an alias", pgerror.SyntaxError, "For example, FROM (SELECT ...) [AS] foo."},
	{"VALUES in FROM must have an alias", pgerror.SyntaxError, "For example, FROM (VALUES ...) [AS] foo."},
	{"unrecognized row security option", pgerror.SyntaxError, "Only PERMISSIVE or RESTRICTIVE policies are supported currently."},
	{"LIMIT #,# syntax is not supported", pgerror.SyntaxError, "Use separate LIMIT and OFFSET clauses."},
	{"interval precision specified twice", pgerror.SyntaxError, ""},
	{"aggregates cannot have output arguments", pgerror.FeatureNotSupported, ""},
	{"*is not yet implemented", pgerror.FeatureNotSupported, ""},
	{"*not implemented", pgerror.FeatureNotSupported, ""},
	{"MATCH PARTIAL", pgerror.FeatureNotSupported, ""},
	{"column number must be in range", pgerror.InvalidParameterValue, ""},
	{"current database cannot be changed", pgerror.FeatureNotSupported, ""},
	{"CREATE SCHEMA IF NOT EXISTS cannot include schema elements", pgerror.FeatureNotSupported, ""},
	{"GLOBAL is deprecated", pgerror.SyntaxError, ""},
	{"*is not supported", pgerror.FeatureNotSupported, ""},
	{"*cannot be marked", pgerror.FeatureNotSupported, ""},
	{"frame starting from following row cannot have preceding rows", pgerror.WindowingError, ""},
	{"frame starting from current row cannot have preceding rows", pgerror.WindowingError, ""},
	{"frame start cannot be UNBOUNDED FOLLOWING", pgerror.WindowingError, ""},
	{"frame end cannot be UNBOUNDED PRECEDING", pgerror.WindowingError, ""},
	{"frame starting from following row cannot end with current row", pgerror.WindowingError, ""},
}

func syntaxError(sql string, err error) error {
	var pe *parser.Error
	if !errors.As(err, &pe) {
		return pgerror.Wrap(err, pgerror.InternalError, "parser failed: %s", err)
	}
	out := pgerror.New(pgerror.SyntaxError, "%s", pe.Message)
	for _, c := range errorCodes {
		if strings.HasPrefix(pe.Message, c.text) || c.text[0] == '*' && strings.Contains(pe.Message, c.text[1:]) {
			out.Code, out.Hint = c.code, c.hint
			break
		}
	}
	if out.Code == pgerror.InvalidEscapeSequence && inUnicodeString(sql, pe.Cursorpos) {
		out.Code = pgerror.SyntaxError
	} else if out.Code == pgerror.InvalidEscapeSequence {
		out.Hint = `Unicode escapes must be \uXXXX or \UXXXXXXXX.`
	}
	if pe.Cursorpos > 0 {
		out.Position = pe.Cursorpos
	}
	return out
}

// inUnicodeString reports whether the last literal that begins before a position is
// U&'…' or U&"…", not E'…': their wrong escapes have different codes.
func inUnicodeString(sql string, pos int) bool {
	if pos < 0 || pos > len(sql) {
		pos = len(sql)
	}
	lower := strings.ToLower(sql[:pos])
	return max(strings.LastIndex(lower, "u&'"), strings.LastIndex(lower, `u&"`)) > strings.LastIndex(lower, "e'")
}

func stackDepth() error {
	return pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded").
		WithHint(`Increase the configuration parameter "max_stack_depth" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.`)
}
