package jit

// call calls the machine code at entry with an argument block.
//
//go:noescape
func call(entry uintptr, arguments *uint64)

// synchronize makes instruction fetches see bytes of code that were written. written and executed are two
// addresses of the same memory.
//
//go:noescape
func synchronize(written, executed *byte, bytes uintptr)
