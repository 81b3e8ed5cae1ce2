package kernels_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// TestDeterminism runs every operator with several numbers of workers. The bits of all results must be the
// same. It also uses ranges of one index, so that small examples have many ranges.
func TestDeterminism(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		p := f.everything(t)
		for _, grain := range []int{0, 1} {
			want := mustRun(t, p, f.values, execution{grain: grain})
			for _, workers := range []int{1, 2, 3, 5} {
				got := mustRun(t, p, f.values, execution{grain: grain, workers: workers})
				sameBits(t, fmt.Sprintf("%d workers, grain %d", workers, grain), got, want)
				if grain == 1 {
					got = mustRun(t, p, f.values, execution{workers: workers, spread: true})
					sameBits(t, fmt.Sprintf("spread over %d workers", workers), got, want)
				}
			}
		}
	})
}

// spreading returns a registry in which each task spreads its indices over several workers by itself. The
// engine does not do so for small tasks: it gives them to the first free worker, which is nearly always the
// same one. A lock spreads one task at a time, as each worker has one scratch memory.
func spreading(workers int) *task.Registry {
	var one sync.Mutex
	return rewired(fmt.Sprintf("spread over %d workers", workers), func(_ *task.Accessor, bodies []op.Body) []op.Body {
		for i, b := range bodies {
			bodies[i] = &spreadBody{b, workers, &one}
		}
		return bodies
	})
}

// spreadBody runs a body on several workers.
type spreadBody struct {
	op.Body
	workers int
	one     *sync.Mutex
}

// Run distributes the indices of the first dimension over the workers in turn, from the last index on.
func (b *spreadBody) Run(ctx *op.Ctx, r op.Range) error {
	b.one.Lock()
	defer b.one.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, b.workers)
	for w := range b.workers {
		wg.Go(func() {
			own := op.Ctx{Worker: w, Step: ctx.Step}
			for i := r.Hi - 1 - w; i >= r.Lo && errs[w] == nil; i -= b.workers {
				one := [][2]int{{i, i + 1}, {}, {}}
				for d := 1; d < op.MaxRank; d++ {
					one[d][0], one[d][1] = r.Dim(d)
				}
				errs[w] = b.Body.Run(&own, op.Box(one...))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestCutsDoNotMatter compares results with the plan's ranges, with ranges of one and of two indices, and with
// one range.
func TestCutsDoNotMatter(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		p := f.everything(t)
		want := mustRun(t, p, f.values, execution{})
		for _, grain := range []int{1, 2, 1 << 20} {
			got := mustRun(t, p, f.values, execution{grain: grain})
			for _, name := range slices.Sorted(maps.Keys(want)) {
				closeTo(t, fmt.Sprintf("grain %d: %s", grain, name), got[name], want[name], s.precision(), 1e-14)
			}
		}
	})
}

// TestRunsAreRepeatable runs a plan three times. The third runs of two engines have the same results. So has
// the third run of an engine whose memory is overwritten between the runs.
func TestRunsAreRepeatable(t *testing.T) {
	forEachSample(t, func(t *testing.T, s sample) {
		f := mustFixture(t, s)
		p := f.everything(t)
		want := mustRun(t, p, f.values, execution{runs: 3})
		sameBits(t, "another engine", mustRun(t, p, f.values, execution{runs: 3, workers: 2}), want)
		sameBits(t, "with garbage between runs", mustRun(t, p, f.values, execution{runs: 3, garbage: manyNaNs}), want)
	})
}
