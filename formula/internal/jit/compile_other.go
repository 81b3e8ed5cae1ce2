//go:build !amd64

package jit

// compile returns no code: the architecture is not supported.
func (b *Builder) compile() (code []byte, past, unroll, words, rows int) { return nil, 0, 0, 0, 0 }

// call is unreachable, because there is no code.
func call(uintptr, *uint64) {}
