package cpu

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
)

// phased is a body of two phases.
type phased struct{ whole bool }

func (*phased) Run(*op.Ctx, op.Range) error           { return nil }
func (p *phased) Whole() bool                         { return p.whole }
func (*phased) Phases() int                           { return 2 }
func (*phased) RunPhase(*op.Ctx, int, op.Range) error { return nil }

// TestPhasesOfEvents checks which phase events name: -1 where the first range computes all of them.
func TestPhasesOfEvents(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		var got []int
		b := observe(0, &phased{whole}, func(e engine.Event) { got = append(got, e.Phase) })
		ctx := &op.Ctx{}
		if err := b.Run(ctx, op.Range{Hi: 1}); err != nil {
			t.Fatal(err)
		}
		for phase := range 2 {
			if err := b.(op.Phased).RunPhase(ctx, phase, op.Range{Hi: 1}); err != nil {
				t.Fatal(err)
			}
		}
		want := []int{0, 0, 1}
		if whole {
			want[0] = -1
		}
		if !slices.Equal(got, want) {
			t.Errorf("whole is %v: phases %v, want %v", whole, got, want)
		}
	}
}
