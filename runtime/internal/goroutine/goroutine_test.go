package goroutine

import (
	"runtime"
	"testing"
)

// TestRunner runs functions, of which some end their goroutine.
func TestRunner(t *testing.T) {
	t.Parallel()
	var r Runner
	own := ID()
	for i := range 20 {
		var at uint64
		inside := false
		err := r.Do(func() {
			at = ID()
			inside = r.Is(at)
			if i%3 == 0 {
				runtime.Goexit()
			}
		})
		if (err == ErrExited) != (i%3 == 0) || at == 0 || at == own || !inside || r.Is(own) {
			t.Fatalf("call %d: %v in goroutine %d, inside %v; own is %d", i, err, at, inside, own)
		}
	}
	r.Stop()
	r.Stop()
}
