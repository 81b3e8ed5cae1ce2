package pages

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestBig looks up in which way Linux keeps large memory and small memory: the flag hg says that big pages
// were asked for.
func TestBig(t *testing.T) {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage")
	supported := err == nil
	large := Bytes(4*least, 64)
	if got := asked(t, &large[2*least]); got != supported {
		t.Errorf("%d bytes: big pages asked for is %v, want %v", len(large), got, supported)
	}
	for i := range large { // the pages can be used
		large[i] = byte(i)
	}
	for i, v := range large {
		if v != byte(i) {
			t.Fatalf("byte %d: want %d, got %d", i, byte(i), v)
		}
	}
}

// asked reports whether big pages were asked for at an address.
func asked(t *testing.T, p *byte) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			at := uintptr(unsafe.Pointer(p))
			inside = lo <= at && at < hi
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.Contains(flags+" ", " hg ")
		}
	}
	t.Fatalf("no mapping holds %p", p)
	return false
}
