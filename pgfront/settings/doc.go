// Package settings owns the configuration parameters of a session (PostgreSQL's
// GUC): the table of what exists, with type, unit, range and who may change it,
// the parsing and printing of values, and a Store with the values of one session
// and their behaviour in transactions.
//
// A Store is used by one goroutine (the session's). Values are kept as text in
// canonical form, as SHOW prints them without units; the session mirrors the few
// it needs on hot paths through Store.OnChange.
//
// The facts of PostgreSQL's own parameters are facts/pg_settings.txt, written by
// internal/gensettings; Ostraka's own are in own.go.
package settings
