package optest

import (
	"testing"
)

// Checked runs every sample, forward and backward, on package checked. It runs the ranges of plans, and
// ranges of three indices of the first dimension. The bits of results must be those of package cpu.
func (k *Kit) Checked(t *testing.T) {
	k.forEachSample(t, "Checked", func(t *testing.T, s sample) {
		f := s.fixture(t)
		p := f.everything(t)
		for _, grain := range []int{0, 3} {
			want, got := f.run(t, p, f.values, Execution{grain: grain}), f.run(t, p, f.values, Execution{grain: grain, Checked: true})
			f.sameBits(t, "checked mode, next to the other, "+ranges(grain), got, want)
		}
	})
}
