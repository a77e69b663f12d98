package parse

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// EscapeStrings gives the meaning that a statement has with
// standard_conforming_strings off: in plain string constants a backslash begins an
// escape, as in E'…', which is what those that have one become. Constants with
// Unicode escapes are refused, as PostgreSQL does (0A000).
func EscapeStrings(sql string) (string, error) {
	if !strings.Contains(sql, `\`) && !strings.Contains(sql, "&'") {
		return sql, nil
	}
	var out strings.Builder
	for i := 0; i < len(sql); {
		end, plain, err := skipToken(sql, i)
		if err != nil {
			return "", err
		}
		if plain && strings.Contains(sql[i:end], `\`) {
			if i > 0 && identByte(sql[i-1]) {
				out.WriteByte(' ')
			}
			out.WriteByte('E')
		}
		out.WriteString(sql[i:end])
		i = end
	}
	return out.String(), nil
}

// skipToken finds the end of what begins at i; plain tells a string constant without a prefix.
func skipToken(sql string, i int) (end int, plain bool, err error) {
	rest := sql[i:]
	until := func(mark string, from int) int {
		if j := strings.Index(sql[from:], mark); j >= 0 {
			return from + j + len(mark)
		}
		return len(sql)
	}
	c := sql[i]
	switch {
	case strings.HasPrefix(rest, "--"):
		return until("\n", i), false, nil
	case strings.HasPrefix(rest, "/*"):
		depth := 0
		for ; i < len(sql); i++ {
			switch {
			case strings.HasPrefix(sql[i:], "/*"):
				depth++
				i++
			case strings.HasPrefix(sql[i:], "*/"):
				i++
				if depth--; depth == 0 {
					return i + 1, false, nil
				}
			}
		}
		return len(sql), false, nil
	case c == '"':
		return until(`"`, i+1), false, nil
	case c == '\'':
		return quotedEnd(sql, i+1, true), true, nil
	case c == '$':
		tag := rest[:1]
		for j := 1; j < len(rest) && (identByte(rest[j]) || rest[j] >= '0' && rest[j] <= '9'); j++ {
			tag = rest[:j+1]
		}
		if len(tag) < len(rest) && rest[len(tag)] == '$' && (len(tag) == 1 || rest[1] > '9' || rest[1] < '0') {
			tag = rest[:len(tag)+1]
			return until(tag, i+len(tag)), false, nil
		}
		return i + len(tag), false, nil
	case identByte(c):
		j := i + 1
		for j < len(sql) && (identByte(sql[j]) || sql[j] >= '0' && sql[j] <= '9' || sql[j] == '$') {
			j++
		}
		if word := strings.ToLower(sql[i:j]); j < len(sql) {
			switch {
			case sql[j] == '\'' && word == "e":
				return quotedEnd(sql, j+1, true), false, nil
			case sql[j] == '\'' && (word == "b" || word == "x"):
				return quotedEnd(sql, j+1, false), false, nil
			case word == "u" && strings.HasPrefix(sql[j:], "&'"):
				return 0, false, pgerror.New(pgerror.FeatureNotSupported, "unsafe use of string constant with Unicode escapes").
					WithDetail("String constants with Unicode escapes cannot be used when standard_conforming_strings is off.").
					At(len([]rune(sql[:i])) + 1)
			case word == "u" && strings.HasPrefix(sql[j:], `&"`):
				return until(`"`, j+2), false, nil
			}
		}
		return j, false, nil
	}
	return i + 1, false, nil
}

// quotedEnd is the place after the quote that ends a constant; a doubled quote does not.
func quotedEnd(sql string, i int, backslashes bool) int {
	for i < len(sql) {
		switch {
		case sql[i] == '\\' && backslashes:
			i++
		case sql[i] == '\'':
			if i+1 == len(sql) || sql[i+1] != '\'' {
				return i + 1
			}
			i++
		}
		i++
	}
	return len(sql)
}

func identByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
