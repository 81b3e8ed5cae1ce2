//go:build !amd64 && !arm64

package jit

// Constants of processors, for the types of what no code is made of.
const (
	vectorBytes = 16
	onSigns     = true
)

// compile returns no code: the architecture is not supported.
func (b *Builder) compile() (code []byte, past, unroll, words, rows int) { return nil, 0, 0, 0, 0 }

// call is unreachable, because there is no code.
func call(uintptr, *uint64) {}
