// Package pgregex is PostgreSQL's regular expressions: the advanced, extended
// and basic syntaxes, leftmost-longest (or, by the greediness rules of
// PostgreSQL's documentation, chapter "Regular Expression Matching Rules",
// leftmost-shortest) matching, look-around and back-references.
//
// How it works is Henry Spencer's design: the expression becomes a tree whose
// nodes match by deterministic automata that are built lazily; a match of the
// whole is found first, then taken apart ("dissected") node by node to find
// what the parentheses matched. Without back-references every automaton run is
// linear in the text; dissection is bounded by a step budget, past which
// matching fails with 54001 instead of running on.
//
// A Regexp keeps automaton states between calls and belongs to one goroutine.
package pgregex
