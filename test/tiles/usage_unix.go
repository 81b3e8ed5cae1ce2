//go:build unix

package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage returns the processor time and the peak memory of the process, or zeros if the system does not report
// them.
func usage() (busy time.Duration, bytes int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	busy, bytes = time.Duration(u.Utime.Nano()+u.Stime.Nano()), int64(u.Maxrss)
	if runtime.GOOS != "darwin" { // where Maxrss is in KiB
		bytes <<= 10
	}
	return busy, bytes
}
