// Package ostraka is the root of the module: it holds no code, only the test
// that keeps the house rules (lint_test.go). The program is cmd/ostraka, the plan
// of the rooms is docs/ARCHITECTURE.md.
package ostraka
