package enginetest

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
)

// testLeaks opens, uses and closes engines in a bubble, which waits until no goroutine is left that they
// started. Ledgers check the memory.
func (s *suite) testLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 4} {
			for _, fails := range []bool{false, true} {
				e := s.start(t, s.registry(t, func(ctx *op.Ctx, a *args, r op.Range) error {
					if fails && r.Lo == 7 {
						return errKernel
					}
					return increment(ctx, a, r)
				}), workers, engine.Config{})
				in := s.load(t, e, chain(t, 3, 20))
				feed(t, in, "x", make([]float32, 20)...)
				if err := in.Run(t.Context()); errors.Is(err, errKernel) != fails {
					t.Errorf("%d workers, fails %v: %v", workers, fails, err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
