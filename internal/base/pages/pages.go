// Package pages makes large memory that a program keeps for long, in big pages where the system has them.
package pages

import "unsafe"

// least is from how many bytes on memory is put into big pages: less has few of them, and a first use of each
// clears 2 MiB on most machines.
const least = 4 << 20

// Bytes returns n zero bytes of the Go heap at an address that is a multiple of align, a power of 2. On
// Linux, it asks the system for big pages for what lies on whole ones, from 4 MiB on: a processor then finds
// the addresses of 512 times as much memory in its tables. A system that has none, or is set to give none,
// gives small ones.
func Bytes(n int64, align int) []byte {
	raw := make([]byte, n+int64(align)-1)
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & uintptr(align-1))
	b := raw[skip : skip+n : skip+n]
	if n >= least {
		big(b)
	}
	return b
}
