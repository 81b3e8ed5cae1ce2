//go:build !amd64

package jit

// compile returns no code.
func (b *Builder) compile() (code []byte, past, unroll, words, rows int) { return nil, 0, 0, 0, 0 }

// call is not reached: there is no code.
func call(uintptr, *uint64) {}
