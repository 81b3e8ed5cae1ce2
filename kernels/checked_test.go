package kernels_test

import (
	"fmt"
	"testing"
)

// TestChecked runs every sample, forward and backward, on the backend that checks what kernels do. Ranges are those of
// plans, and others of three indices of the first dimension. The results have the bits of those of package cpu.
func TestChecked(t *testing.T) {
	t.Parallel()
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		p := f.everything(t)
		for _, grain := range []int{0, 3} {
			want, got := mustRun(t, p, f.values, execution{grain: grain}), mustRun(t, p, f.values, execution{grain: grain, checked: true})
			sameBits(t, fmt.Sprintf("checked, grain %d", grain), got, want)
		}
	})
}
