//go:build !linux

package main

import (
	"context"
	"time"
)

// patientMonitor does nothing here.
func patientMonitor() error { return nil }

// watchDisk does nothing here.
func watchDisk(context.Context, func() time.Duration) {}
