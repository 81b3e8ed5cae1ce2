package jit

// call calls the code at entry.
//
//go:noescape
func call(entry uintptr, arguments *uint64)
