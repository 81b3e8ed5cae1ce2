package planner_test

import (
	"testing"

	_ "github.com/opgen/opgen/formula" // finds tiles
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/schedule"
)

// TestWavefront lets rows pass four layers before the next rows, where the layers pass more on than a cache
// holds, and their weights fit into it. Otherwise queues keep the order of the plan.
func TestWavefront(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		rows, width int
		tiles       int // of a layer
		moved       bool
	}{
		{"small", 1 << 10, 64, 16, false},
		{"large", 1 << 15, 64, 32, true},
		{"large weights", 1 << 12, 512, 16, false},
	} {
		g := graph.New(1)
		y := g.Input("x", dtype.F32, tt.rows, tt.width)
		for range 4 {
			y = linear.Apply(g, linear.Defaults(tt.width).WithActivation(activation.Relu), y)
		}
		prog, err := graph.Inference(g, y)
		if err != nil {
			t.Fatal(err)
		}
		for workers := 1; workers <= 3; workers++ {
			p, err := planner.Build(prog, planner.Tiled(), planner.Paying(), planner.Workers(workers))
			if err != nil {
				t.Fatal(err)
			}
			if err := verify.Plan(p); err != nil {
				t.Fatal(err)
			}
			if len(p.Tasks) != 4*tt.tiles {
				t.Errorf("%s: %d tasks, want 4 layers of %d tiles", tt.name, len(p.Tasks), tt.tiles)
				continue
			}
			for w, queue := range p.Schedule.Queues {
				before := -1
				for _, op := range queue {
					kind, n := op.Decode()
					if kind != schedule.Run {
						continue
					}
					layer, tile := n/tt.tiles, n%tt.tiles
					if tt.moved && layer > 0 && before != n-tt.tiles {
						t.Errorf("%s, %d workers: worker %d runs tile %d of layer %d after task %d", tt.name, workers, w, tile, layer, before)
					}
					if !tt.moved && before > n {
						t.Errorf("%s, %d workers: worker %d runs task %d after task %d", tt.name, workers, w, n, before)
					}
					before = n
				}
			}
		}
	}
}
