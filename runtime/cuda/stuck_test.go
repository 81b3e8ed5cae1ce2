package cuda_test

import (
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/cuda"
)

// TestStuckError compares messages: of a block that waited, and of the host.
func TestStuckError(t *testing.T) {
	for want, e := range map[string]cuda.StuckError{
		"block 2 of the kernel has waited 1s to begin n1: linear.forward: block 0 does not go on at n0: linear.forward": {
			Worker: 2, Waiting: "n1: linear.forward", For: 0, At: "n0: linear.forward", Ended: true, Waited: time.Second},
		"the host has waited 2s: block 3 does not go on at n0: linear.forward; the kernel still runs, so another process is needed": {
			Worker: -1, For: 3, At: "n0: linear.forward", Waited: 2 * time.Second},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
