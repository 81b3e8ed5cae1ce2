//go:build !amd64 && !arm64

package jit

// Properties of a processor, without which the package would not compile.
const (
	vectorBytes = 16
	onSigns     = true
)

// compile returns no code: the architecture is not supported.
func (b *Builder) compile() (code []byte, past, unroll, words, rows int) { return nil, 0, 0, 0, 0 }

// call is unreachable, because there is no code.
func call(uintptr, *uint64) {}
