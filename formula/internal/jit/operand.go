//go:build amd64 || arm64

package jit

// memory is an address: base + index<<scale + offset, or a constant behind the code.
type memory struct {
	base, index int // index may be none
	scale       byte
	offset      int
	constant    int // number of a constant, or none
}

func at(base, offset int) memory {
	return memory{base: base, index: none, offset: offset, constant: none}
}

// operand is a register or a memory operand.
type operand struct {
	register int // none for memory
	memory
	repeated bool // whether memory is one element to broadcast
}

func inRegister(r int) operand { return operand{register: r} }
