//go:build !linux

package main

import "context"

// adviseHugePages does nothing here.
func adviseHugePages(context.Context) {}
