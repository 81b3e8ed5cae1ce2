//go:build !unix

package main

import "time"

// usage returns zeros: the system does not report usage.
func usage() (busy time.Duration, bytes int64) { return 0, 0 }
