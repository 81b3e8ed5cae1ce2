//go:build !amd64 && !arm64

package simd

// ofProcessor returns no sets of instructions: there is assembly for amd64 and arm64 only.
func ofProcessor() []set { return nil }
