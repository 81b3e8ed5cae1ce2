package planner_test

import (
	"testing"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// TestTuned plans with choices: they hold for the task, the device and the bucket that they name, and for no
// tiles that are tasks of their own.
func TestTuned(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults().WithDim(1), g.Input("x", dtype.F32, 300, 1000))
	prog, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	use, err := tuned.UseOf(y.Node().Op.Signature(task.KindForward), y.Node().Resolved)
	if err != nil {
		t.Fatal(err)
	}
	if use.Shapes != "input=512x1024" || use.Attrs != `{"dim":1}` || use.Types != "f32" || use.Task != "forward" {
		t.Errorf("got the use %+v", use)
	}
	on := tuned.Device{Processor: "p", Workers: 2}
	other := use
	other.Shapes = "input=256x1024"
	for _, x := range []struct {
		device tuned.Device
		use    tuned.Use
		opts   []planner.Option
		tiles  int
	}{
		{on, use, nil, 3},
		{on, other, nil, 16},
		{tuned.Device{Processor: "q", Workers: 2}, use, nil, 16},
		{tuned.Device{Processor: "p", Workers: 1}, use, nil, 16},
		{on, use, []planner.Option{planner.Tiled(), planner.Paying()}, 16},
		{on, use, []planner.Option{planner.For(target.Target{Name: "another"})}, 16},
	} {
		var table tuned.Table
		table.Set(tuned.Entry{Device: x.device, Use: x.use, Ranges: 3})
		p, err := planner.Build(prog, append(x.opts, planner.Tuned(table.For(on)))...)
		if err != nil {
			t.Fatal(err)
		}
		if grid := p.Tasks[0].Grid(); grid.Tiles() != x.tiles {
			t.Errorf("%+v: want %d ranges, got %v", x, x.tiles, &grid)
		}
	}
}

// TestTunedGroups leaves groups as they are, since what was measured is a task by itself.
func TestTunedGroups(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 1<<17)
	y := elementunary.Tanh(g, x)
	z := elementunary.Relu(g, y)
	on := tuned.Device{Processor: "p", Workers: 1}
	var table tuned.Table
	for _, n := range []*graph.Node{y.Node(), z.Node()} {
		use, err := tuned.UseOf(n.Op.Signature(task.KindForward), n.Resolved)
		if err != nil {
			t.Fatal(err)
		}
		table.Set(tuned.Entry{Device: on, Use: use, Ranges: 2})
	}
	prog, err := graph.Inference(g, z)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		opts         []planner.Option
		tasks, tiles int
	}{{nil, 1, 32}, {[]planner.Option{planner.Plain()}, 2, 2}} {
		p, err := planner.Build(prog, append(x.opts, planner.Tuned(table.For(on)))...)
		if err != nil {
			t.Fatal(err)
		}
		if grid := p.Tasks[0].Grid(); len(p.Tasks) != x.tasks || grid.Tiles() != x.tiles {
			t.Errorf("want %d tasks of %d ranges, got %d of %v", x.tasks, x.tiles, len(p.Tasks), &grid)
		}
	}
}
