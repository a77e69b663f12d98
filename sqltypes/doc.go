// Package sqltypes owns SQL values: the Datum, the types with their OIDs, the
// text and binary codecs, comparison and hashing, casts, and the tables of
// functions, operators and aggregates with their implementations by type.
//
// It knows no storage, no sessions and no plans. What a function needs from its
// session (clock, settings, catalogue look-ups, sequences) reaches it through
// the Env interface. Everything exported is safe for concurrent use unless it
// says otherwise.
package sqltypes
