//go:build !unix

package main

// cpuNanos returns 0, as there is no portable way to read the CPU time.
func cpuNanos() float64 { return 0 }
