package jit

// call runs code.
//
//go:noescape
func call(entry uintptr, arguments *uint64)
