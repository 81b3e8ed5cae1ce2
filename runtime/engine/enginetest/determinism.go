package enginetest

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/planner"
)

// testDeterminism trains with several numbers of workers. After each step, weights and loss are, bit for bit,
// those of one worker. So are those of a plan whose tasks are not fused and share no memory, and of one whose
// tiles are tasks, unless kernels are device code: that covers whole steps, so other kernels run the tiles,
// whose bits may differ.
func (s *suite) testDeterminism(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2, 3, 5} {
		x := s.beside(t, s.engine(t, s.catalogue(t), workers, engine.Config{}))
		for step := range 3 {
			x.check(t, fmt.Sprintf("%d workers, step %d", workers, step))
		}
	}
	options := map[string]planner.Option{"plain": planner.Plain()}
	if !s.deviceCode(t) {
		options["tiled"] = planner.Tiled()
	}
	for name, opt := range options {
		e := s.engine(t, s.catalogue(t), 2, engine.Config{})
		x := s.beside(t, e)
		in, err := e.Load(s.build(t, x.program, opt))
		if err != nil {
			t.Fatal(err)
		}
		x.in = in
		x.check(t, name)
	}
}

// deviceCode reports whether a kernel of the catalogue for the backend's target is device code.
func (s *suite) deviceCode(t *testing.T) bool {
	r := s.catalogue(t)
	for _, o := range r.Operators() {
		for _, sig := range o.Signatures {
			reg := r.Task(sig.ID)
			if reg == nil {
				continue
			}
			for _, v := range reg.Variants {
				if _, ok := v.Kernel.(gpu.Kernel); ok && v.Target == s.target.Name {
					return true
				}
			}
		}
	}
	return false
}
