//go:build amd64 || arm64

package jit

// memory is the address base + index<<scale + offset, or that of a constant, which follows the code.
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
	repeated bool // whether memory is one element, which the instruction broadcasts
}

func inRegister(r int) operand { return operand{register: r} }
