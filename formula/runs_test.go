package formula_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// TestLoopsOfCatalogue checks that loops support all tasks of the catalogue, at all examples and at greater
// extents: thousands of elements may select other loops.
func TestLoopsOfCatalogue(t *testing.T) {
	tasks := 0
	for _, times := range []int{1, 3, 17} {
		forEachChanged(t, func(_ string, examples []task.Example) []task.Example {
			var out []task.Example
			for _, x := range examples {
				x.Shapes = maps.Clone(x.Shapes)
				most := 0
				for name, dims := range x.Shapes {
					dims = slices.Clone(dims)
					for d, n := range dims {
						if n > 1 {
							dims[d] = times * n
						}
					}
					x.Shapes[name], most = dims, max(most, shape.Prod(dims))
				}
				if most <= 1<<20 {
					out = append(out, x)
				}
			}
			return out
		}, func(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution) {
			for _, s := range o.Signatures {
				if s.Kind == task.KindInit || s.Kind == task.KindCleanup {
					continue
				}
				run, err := formula.RunOf(s, u, r)
				if err != nil {
					if times == 1 {
						t.Errorf("%s: %v", s.Task, err)
					}
					continue // the formula reads elements that these extents do not have
				}
				if tasks++; run.Interpreter != nil {
					t.Errorf("%s: want loops, got the interpreter: %v", s.Task, run.Interpreter)
				}
			}
		})
	}
	if tasks < 1500 {
		t.Errorf("want 1500 tasks, got %d", tasks)
	}
}
