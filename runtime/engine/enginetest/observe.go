package enginetest

import (
	"sync"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// witness is an observer that keeps all events.
type witness struct {
	mu      sync.Mutex
	plan    *plan.Plan
	workers int
	events  []engine.Event
}

// Observe returns the function that keeps events.
func (w *witness) Observe(p *plan.Plan, workers int) func(engine.Event) {
	w.plan, w.workers = p, workers
	return func(e engine.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
	}
}

// testObservation checks that the events of a run cover every task once, and that tasks which depend on each
// other do not overlap in time.
func (s *suite) testObservation(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var w witness
		e := s.engine(t, s.catalogue(t), workers, engine.Config{Observer: &w})
		x := s.beside(t, e)
		if w.plan != x.in.Plan() || w.workers != e.Workers() {
			t.Fatalf("the observer saw another plan, or %d workers", w.workers)
		}
		for step := range uint64(2) {
			w.events = nil
			x.check(t, "observed")
			byTask := make([][]engine.Event, len(w.plan.Tasks))
			for _, v := range w.events {
				if v.Worker < 0 || v.Worker >= e.Workers() || v.Step != step || v.End.Before(v.Begin) {
					t.Errorf("event %+v of step %d", v, step)
				}
				byTask[v.Task] = append(byTask[v.Task], v)
			}
			for i, events := range byTask {
				runs := map[op.Range]int{}
				for _, v := range events {
					runs[v.Range]++
				}
				grid := w.plan.Tasks[i].Grid()
				for k := range grid.Tiles() {
					if tile := grid.Tile(k); runs[tile] != 1 {
						t.Errorf("%s: range %v ran %d times", w.plan.Label(i), tile, runs[tile])
					}
				}
				if len(runs) != grid.Tiles() {
					t.Errorf("%s: %d ranges ran, want %d", w.plan.Label(i), len(runs), grid.Tiles())
				}
			}
			for i := range byTask {
				for _, before := range w.plan.Deps.Preds(i) {
					for _, a := range byTask[before] {
						for _, b := range byTask[i] {
							if b.Begin.Before(a.End) {
								t.Errorf("%s begins before the end of %s", w.plan.Label(i), w.plan.Label(int(before)))
							}
						}
					}
				}
			}
		}
	}
}
