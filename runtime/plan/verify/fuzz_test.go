package verify_test

import (
	"errors"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

// plans returns plans of small training steps: with groups, tensors in place and conversions, for one worker,
// for several, and with tasks for single tiles.
func plans(t testing.TB) []*plan.Plan {
	t.Helper()
	var out []*plan.Plan
	for _, typ := range []dtype.Type{dtype.F32, dtype.F16} {
		g := graph.New(1)
		x := flat.Apply(g, flat.Defaults().WithStartDim(1), g.Input("x", typ, 2, 1, 2))
		x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), linear.Apply(g, linear.Defaults(3), x))
		loss := scce.Apply(g, scce.Defaults(), scce.Logit(x), scce.Label(g.Input("label", dtype.I32, 2, 1)))
		prog, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.Build(prog)
		if err != nil {
			t.Fatal(err)
		}
		times := make([]float64, len(p.Tasks))
		for i := range times {
			times[i] = 1e5
		}
		q, err := planner.Reschedule(p, planner.Workers(3), planner.Times(times))
		if err != nil {
			t.Fatal(err)
		}
		tiled, err := planner.Build(prog, planner.Tiled())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p, q, tiled)
	}
	return out
}

// FuzzVerify decodes plans and verifies them. Every error names the plan; nothing panics. What is accepted
// once is accepted again.
func FuzzVerify(f *testing.F) {
	for _, p := range plans(f) {
		data, err := p.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Decode(data)
		if err != nil {
			return
		}
		first := verify.Plan(p)
		if e := (*plan.Error)(nil); first != nil && (!errors.As(first, &e) || e.Plan != p.Name || e.Message == "") {
			t.Errorf("got %v", first)
		}
		if again := verify.Plan(p); (first == nil) != (again == nil) {
			t.Errorf("got %v, then %v", first, again)
		}
	})
}

// TestBounds gives numbers of a plan's data values that are out of bounds, one at a time. Verifying such a
// plan does not panic.
func TestBounds(t *testing.T) {
	t.Parallel()
	refused, accepted, n := 0, 0, 0
	for _, p := range plans(t) {
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(data); i++ {
			end := i
			for end < len(data) && '0' <= data[end] && data[end] <= '9' {
				end++
			}
			if end == i {
				continue
			}
			if n++; n%11 == 0 { // others take long, and are like these
				value := []string{"-1", "99", "1073741824"}[n/11%3]
				q, err := plan.Decode([]byte(string(data[:i]) + value + string(data[end:])))
				switch {
				case err != nil:
				case verify.Plan(q) != nil:
					refused++
				default:
					accepted++ // a larger scratch memory, say
				}
			}
			i = end
		}
	}
	if refused < 100 || refused < accepted {
		t.Errorf("%d plans with a wrong number are refused and %d accepted", refused, accepted)
	}
}
