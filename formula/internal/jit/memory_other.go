//go:build !linux || !amd64

package jit

// Available reports whether the system lets the program run code that it makes.
func Available() bool { return false }

// install returns the address of code, or 0 if there is no memory for it.
func install([]byte) uintptr { return 0 }
