package jit

// call calls the code at entry.
//
//go:noescape
func call(entry uintptr, arguments *uint64)

// synchronize does nothing: processors see that code was written.
func synchronize(written, executed *byte, bytes uintptr) {}
