package graph_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestStages puts a training step on two stages of three devices each. What a stage reads of the other one is
// copied once, and variables end where they begin, also if the other stage updates them.
func TestStages(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("first"))
	y = linear.Apply(g, linear.Defaults(3).WithUseBias(false), y, graph.Named("second"))
	loss := reduce.Sum(g, y, attr.ListOf(0, 1), graph.Named("loss"))
	p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	stage := make([]int, len(p.Steps)) // all on stage 0 but the second product
	for i, s := range p.Steps {
		if s.Invocation != nil && s.Phase != graph.Update && strings.HasPrefix(s.Invocation.Node.Name, "second") {
			stage[i] = 1
		}
	}
	s, err := graph.Stages(p, stage, 3)
	if err != nil {
		t.Fatal(err)
	}
	weight := y.Node().Tensor(int(linear.SlotWeight))
	if got := s.Tensor(weight); got.Device() != 3 || got.Name() != "second.weight@3" || s.Tensor(x) != x {
		t.Errorf("the weight is %v on device %d, the input %v", got, got.Device(), s.Tensor(x))
	}
	var copies []string
	for _, step := range s.Program.Steps {
		if c := step.Copy; c != nil {
			copies = append(copies, c.From.Name()+" -> "+c.To.Name())
		}
		step.Each(func(u graph.Tensor, _ bool) {
			if inv := step.Invocation; inv != nil && inv.Node.Device != u.Device() {
				t.Errorf("node %s is on device %d, %v on device %d", inv.Node.Name, inv.Node.Device, u, u.Device())
			}
		})
	}
	if len(copies) < 4 || copies[0] != "first.output -> first.output at stage 1@3" || copies[len(copies)-1] != "second.weight at stage 0 -> second.weight@3" {
		t.Errorf("got the copies %q", copies)
	}
	seen := map[string]bool{}
	for _, c := range copies {
		if seen[c] {
			t.Errorf("%s is copied twice", c)
		}
		seen[c] = true
	}

	if _, err := graph.Stages(p, stage[1:], 3); err == nil || !strings.HasPrefix(err.Error(), "graph: want a stage for each of ") {
		t.Errorf("a stage too few: %v", err)
	}
	for i := range stage {
		stage[i] = min(int(p.Steps[i].Phase-graph.Forward), 1)
	}
	if _, err := graph.Stages(p, stage, 3); err == nil || !strings.Contains(err.Error(), "want the tasks of node ") {
		t.Errorf("a node on two stages: %v", err)
	}
}
