package optest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// Determinism runs every operator with several numbers of workers. The bits of all results must be the
// same. It also uses ranges of one index, so that small examples have many ranges.
func (k *Kit) Determinism(t *testing.T) {
	k.forEachSample(t, "Determinism", func(t *testing.T, s sample) {
		f := s.fixture(t)
		p := f.everything(t)
		for _, grain := range []int{0, 1} {
			want := f.run(t, p, f.values, Execution{grain: grain})
			for _, workers := range []int{1, 2, 3, 5} {
				got := f.run(t, p, f.values, Execution{grain: grain, Workers: workers})
				f.sameBits(t, fmt.Sprintf("%d workers, next to one, %s", workers, ranges(grain)), got, want)
				if grain == 1 {
					got = f.run(t, p, f.values, Execution{Workers: workers, tasks: k.spreading(t, workers), grain: math.MaxInt})
					f.sameBits(t, fmt.Sprintf("indices of each task on %d workers in turn, next to one worker", workers), got, want)
				}
			}
		}
	})
}

// spreading returns a registry in which each task spreads its indices over several workers by itself. The
// engine does not do so for small tasks: it gives them to the first free worker, which is nearly always the
// same one. A lock spreads one task at a time, as each worker has one scratch memory.
func (k *Kit) spreading(t *testing.T, workers int) *task.Registry {
	var one sync.Mutex
	return k.rewired(t, fmt.Sprintf("spread over %d workers", workers), func(_ *task.Accessor, bodies []op.Body) []op.Body {
		for i, b := range bodies {
			bodies[i] = &spreadBody{b, workers, &one}
		}
		return bodies
	})
}

// ranges names the size of ranges in messages.
func ranges(grain int) string {
	if grain == 0 {
		return "ranges of the plan's size"
	}
	return fmt.Sprintf("ranges of at most %d indices", grain)
}

// spreadBody runs a body on several workers.
type spreadBody struct {
	op.Body
	workers int
	one     *sync.Mutex
}

// Run distributes the indices of the first dimension over the workers in turn, from the last index on: those
// of one phase after the other, if the body has phases.
func (b *spreadBody) Run(ctx *op.Ctx, r op.Range) error {
	b.one.Lock()
	defer b.one.Unlock()
	phased, ok := b.Body.(op.Phased)
	if !ok || !phased.Whole() {
		return b.spread(ctx, r, b.Body.Run)
	}
	for phase := range phased.Phases() {
		run := func(ctx *op.Ctx, r op.Range) error { return phased.RunPhase(ctx, phase, r) }
		if err := b.spread(ctx, r, run); err != nil {
			return err
		}
	}
	return nil
}

// spread calls run for each index of a range.
func (b *spreadBody) spread(ctx *op.Ctx, r op.Range, run func(*op.Ctx, op.Range) error) error {
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
				errs[w] = run(&own, op.Box(one...))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// CutsDoNotMatter compares results with the plan's ranges, with ranges of one and of two indices, and with
// one range.
func (k *Kit) CutsDoNotMatter(t *testing.T) {
	k.forEachSample(t, "CutsDoNotMatter", func(t *testing.T, s sample) {
		f := s.fixture(t)
		p := f.everything(t)
		want := f.run(t, p, f.values, Execution{})
		for _, grain := range []int{1, 2, 1 << 20} {
			got := f.run(t, p, f.values, Execution{grain: grain})
			for _, name := range slices.Sorted(maps.Keys(want)) {
				f.closeTo(t, fmt.Sprintf("%s, %s, next to those of the plan's size", name, ranges(grain)), got[name], want[name], s.precision(), 1e-14)
			}
		}
	})
}

// RunsAreRepeatable runs a plan three times. The third runs of two engines have the same results. So has
// the third run of an engine whose memory is overwritten between the runs.
func (k *Kit) RunsAreRepeatable(t *testing.T) {
	k.forEachSample(t, "RunsAreRepeatable", func(t *testing.T, s sample) {
		f := s.fixture(t)
		p := f.everything(t)
		want := f.run(t, p, f.values, Execution{Runs: 3})
		f.sameBits(t, "the third run on 2 workers, next to that on one", f.run(t, p, f.values, Execution{Runs: 3, Workers: 2}), want)
		f.sameBits(t, "the third run, with NaN in memory before each, next to one without", f.run(t, p, f.values, Execution{Runs: 3, Garbage: NaNs}), want)
	})
}
