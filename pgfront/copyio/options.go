// Package copyio reads and writes the data formats of COPY: text, csv and binary
// (PostgreSQL documentation, COPY, "File Formats"). It deals in fields as text or
// bytes; types, tables and messages are the caller's.
//
// A Reader pulls chunks of any size and never needs the whole input in memory;
// one line (or binary field) is bounded by MaxLine. Nothing here is safe for
// concurrent use.
package copyio

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// MaxLine bounds one line or binary field, in bytes (PostgreSQL's 1 GB).
const MaxLine = 1<<30 - 1

// Format of the data.
type Format uint8

const (
	Text Format = iota
	CSV
	Binary
)

// Header of a text or csv file.
type Header uint8

const (
	NoHeader Header = iota
	HasHeader
	MatchHeader // FROM: the names must be the columns'
)

// Options of COPY. Zero Delimiter, Quote, Escape and Null not set mean the
// format's defaults, which Check fills in.
type Options struct {
	Format    Format
	Delimiter string
	Null      string
	NullSet   bool
	Header    Header
	HeaderSet bool
	Quote     string
	Escape    string
	// By column of the list, after the caller resolved names.
	ForceQuote, ForceNotNull, ForceNull          []bool
	HasForceQuote, HasForceNotNull, HasForceNull bool
	Encoding                                     string
}

// Check validates the options for COPY FROM or TO as PostgreSQL does and fills in defaults.
func (o *Options) Check(from bool) error {
	unsupported := func(format string, args ...any) error {
		return pgerror.New(pgerror.FeatureNotSupported, format, args...)
	}
	if o.Format == Binary {
		switch {
		case o.Delimiter != "":
			return pgerror.New(pgerror.SyntaxError, "cannot specify DELIMITER in BINARY mode")
		case o.NullSet:
			return pgerror.New(pgerror.SyntaxError, "cannot specify NULL in BINARY mode")
		}
	}
	csv := o.Format == CSV
	quoteSet, escapeSet := o.Quote != "", o.Escape != ""
	if o.Delimiter == "" {
		o.Delimiter = "\t"
		if csv {
			o.Delimiter = ","
		}
	}
	if !o.NullSet {
		o.Null = `\N`
		if csv {
			o.Null = ""
		}
	}
	if csv {
		if !quoteSet {
			o.Quote = `"`
		}
		if !escapeSet {
			o.Escape = o.Quote
		}
	}
	switch {
	case len(o.Delimiter) != 1:
		return unsupported("COPY delimiter must be a single one-byte character")
	case strings.ContainsAny(o.Delimiter, "\r\n"):
		return pgerror.New(pgerror.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(o.Null, "\r\n"):
		return pgerror.New(pgerror.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case !csv && strings.ContainsAny(o.Delimiter, "\\.abcdefghijklmnopqrstuvwxyz0123456789"):
		return pgerror.New(pgerror.InvalidParameterValue, `COPY delimiter cannot be "%s"`, o.Delimiter)
	case o.Format == Binary && o.HeaderSet && o.Header != NoHeader:
		return unsupported("cannot specify HEADER in BINARY mode")
	case !csv && quoteSet:
		return unsupported("COPY quote available only in CSV mode")
	case csv && len(o.Quote) != 1:
		return unsupported("COPY quote must be a single one-byte character")
	case csv && o.Delimiter == o.Quote:
		return pgerror.New(pgerror.InvalidParameterValue, "COPY delimiter and quote must be different")
	case !csv && escapeSet:
		return unsupported("COPY escape available only in CSV mode")
	case csv && len(o.Escape) != 1:
		return unsupported("COPY escape must be a single one-byte character")
	case !csv && o.HasForceQuote:
		return unsupported("COPY force quote available only in CSV mode")
	case o.HasForceQuote && from:
		return unsupported("COPY force quote only available using COPY TO")
	case !csv && o.HasForceNotNull:
		return unsupported("COPY force not null available only in CSV mode")
	case o.HasForceNotNull && !from:
		return unsupported("COPY force not null only available using COPY FROM")
	case !csv && o.HasForceNull:
		return unsupported("COPY force null available only in CSV mode")
	case o.HasForceNull && !from:
		return unsupported("COPY force null only available using COPY FROM")
	case strings.Contains(o.Null, o.Delimiter) && o.Format != Binary:
		return unsupported("COPY delimiter must not appear in the NULL specification")
	case csv && strings.Contains(o.Null, o.Quote):
		return unsupported("CSV quote character must not appear in the NULL specification")
	case o.Header == MatchHeader && !from:
		return unsupported(`cannot use "match" with HEADER in COPY TO`)
	}
	return nil
}

func badFormat(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.BadCopyFileFormat, format, args...)
}
