//go:build unix

package main

import "syscall"

// cpuNanos returns the CPU time that this process has taken so far, of all its threads.
func cpuNanos() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
