package syscat

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// splitName parses a possibly quoted, possibly qualified name, folding what is
// not quoted to lower case, as PostgreSQL's stringToQualifiedNameList does.
func splitName(s string) ([]string, error) {
	invalid := func() ([]string, error) { return nil, pgerror.New(pgerror.InvalidName, "invalid name syntax") }
	var parts []string
	rest := strings.TrimSpace(s)
	if rest == "" {
		return invalid()
	}
	for {
		var part string
		if rest[0] == '"' {
			var b strings.Builder
			i := 1
			for {
				j := strings.IndexByte(rest[i:], '"')
				if j < 0 {
					return invalid()
				}
				b.WriteString(rest[i : i+j])
				i += j + 1
				if i < len(rest) && rest[i] == '"' {
					b.WriteByte('"')
					i++
					continue
				}
				break
			}
			part, rest = b.String(), rest[i:]
		} else {
			i := strings.IndexAny(rest, ". \t\n")
			if i < 0 {
				i = len(rest)
			}
			part, rest = strings.ToLower(rest[:i]), rest[i:]
		}
		if part == "" {
			return invalid()
		}
		parts = append(parts, part)
		rest = strings.TrimLeft(rest, " \t\n")
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return invalid()
		}
		if rest = strings.TrimLeft(rest[1:], " \t\n"); rest == "" {
			return invalid()
		}
	}
}
