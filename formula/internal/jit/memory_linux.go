//go:build linux && (amd64 || arm64)

package jit

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// chunk is the size of one mapping for code, in bytes.
const chunk = 1 << 20

// store holds the installed code, by its bytes. Code is never freed: a program has few distinct loops.
var store struct {
	sync.Mutex
	entries         map[string]uintptr
	writable, codes []byte // two mappings of the same pages, so that no mapping is both writable and executable
	used            int
	failed          bool
}

// off says that the environment variable OPGEN_JIT is "off", which disables the package.
var off = os.Getenv("OPGEN_JIT") == "off"

// Available reports whether the system allows executable mappings, and OPGEN_JIT is not "off".
func Available() bool {
	if off {
		return false
	}
	store.Lock()
	defer store.Unlock()
	return reserve(0)
}

// reserve ensures that n bytes are free in the current mapping. It returns false if n exceeds chunk or the
// system refuses a mapping.
func reserve(n int) bool {
	if store.failed || n > chunk {
		return false
	}
	if store.codes != nil && store.used+n <= len(store.codes) {
		return true
	}
	writable, codes, err := mapped(chunk)
	if err != nil {
		store.failed = store.codes == nil
		return false
	}
	store.writable, store.codes, store.used = writable, codes, 0
	return true
}

// mapped maps the same n bytes twice, once writable and once executable.
func mapped(n int) (writable, codes []byte, err error) {
	file, err := unix.MemfdCreate("opgen-loops", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(file)
	if err := unix.Ftruncate(file, int64(n)); err != nil {
		return nil, nil, err
	}
	if writable, err = unix.Mmap(file, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, nil, err
	}
	if codes, err = unix.Mmap(file, 0, n, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED); err != nil {
		_ = unix.Munmap(writable)
		return nil, nil, err
	}
	return writable, codes, nil
}

// install copies code into executable memory, and returns its address, or 0 if there is no memory.
func install(code []byte) uintptr {
	store.Lock()
	defer store.Unlock()
	if at, ok := store.entries[string(code)]; ok {
		return at
	}
	if !reserve(len(code)) {
		return 0
	}
	copy(store.writable[store.used:], code)
	executed := &store.codes[store.used]
	synchronize(&store.writable[store.used], executed, uintptr(len(code)))
	at := uintptr(unsafe.Pointer(executed))
	store.used += (len(code) + 63) &^ 63
	if store.entries == nil {
		store.entries = map[string]uintptr{}
	}
	store.entries[string(code)] = at
	return at
}
