package enginetest

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/planner"
)

// testDeterminism trains with several numbers of workers. After each step, weights and loss are, bit for bit,
// those of one worker. So are those of a plan whose tasks are not fused and share no memory, and of one whose
// tiles are tasks.
func (s *suite) testDeterminism(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2, 3, 5} {
		x := s.beside(t, s.engine(t, s.catalogue(t), workers, engine.Config{}))
		for step := range 3 {
			x.check(t, fmt.Sprintf("%d workers, step %d", workers, step))
		}
	}
	for name, opt := range map[string]planner.Option{"plain": planner.Plain(), "tiled": planner.Tiled()} {
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
