package enginetest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/engine"
)

// testConformance runs all conformance cases, in the type in which they are given and in float64. Each must
// pass: none may be skipped.
func (s *suite) testConformance(t *testing.T) {
	cases, _, err := conform.LoadAll(conform.Cases())
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 150 {
		t.Fatalf("only %d cases", len(cases))
	}
	r := &conform.Runner{Registry: s.catalogue(t), Operators: catalogue.Operators(), Backend: func() (engine.Backend, error) { return s.open(t, 2), nil }}
	for _, r.Double = range []bool{false, true} {
		var next atomic.Int64
		var group sync.WaitGroup
		for range runtime.GOMAXPROCS(0) { // a backend may compile device code for each case, which takes long
			group.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(cases)); i = next.Add(1) - 1 {
					if res := r.Run(t.Context(), cases[i]); res.Status != conform.Passed {
						t.Errorf("%s, double %v: status %d: %s", cases[i].Name(), r.Double, res.Status, res.Reason)
					}
				}
			})
		}
		group.Wait()
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
