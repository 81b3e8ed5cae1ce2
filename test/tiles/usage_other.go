//go:build !unix

package main

import "time"

// usage returns nothing: this system does not tell.
func usage() (busy time.Duration, bytes int64) { return 0, 0 }
