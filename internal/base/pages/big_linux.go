package pages

import (
	"os"
	"syscall"
	"unsafe"
)

// collapse is MADV_COLLAPSE, which package syscall lacks: it moves what is in small pages already, as memory
// is that the Go heap had to clear, into big ones. Linux has it from version 6.1 on.
const collapse = 25

// big asks for big pages for the whole small pages in which b lies. It is advice, so nothing follows from an
// error.
func big(b []byte) {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	whole := b[skip : skip+(len(b)-skip)/page*page]
	if syscall.Madvise(whole, syscall.MADV_HUGEPAGE) == nil {
		_ = syscall.Madvise(whole, collapse)
	}
}
