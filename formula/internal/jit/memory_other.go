//go:build !linux || (!amd64 && !arm64)

package jit

// Available returns false: the platform is not supported.
func Available() bool { return false }

// install returns 0: the platform is not supported.
func install([]byte) uintptr { return 0 }
