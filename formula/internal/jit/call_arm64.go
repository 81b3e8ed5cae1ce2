package jit

// call calls the code at entry.
//
//go:noescape
func call(entry uintptr, arguments *uint64)

// synchronize prepares the execution of bytes that were written; both addresses are of the same memory.
//
//go:noescape
func synchronize(written, executed *byte, bytes uintptr)
