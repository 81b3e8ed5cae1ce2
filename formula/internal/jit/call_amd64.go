package jit

// call calls the machine code at entry with an argument block.
//
//go:noescape
func call(entry uintptr, arguments *uint64)

// synchronize does nothing: caches of instructions and data are coherent on amd64.
func synchronize(written, executed *byte, bytes uintptr) {}
