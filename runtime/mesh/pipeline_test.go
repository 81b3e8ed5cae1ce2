package mesh_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/batchnorm"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/ranks"
)

// staged returns a strategy whose further stages begin with some nodes.
func staged(t *testing.T, batches int, nodes ...string) *mesh.Strategy {
	t.Helper()
	s, err := mesh.Parse("s.toml", fmt.Appendf(nil, "[pipeline]\nstages = [%s]\nmicro_batches = %d\ncut.%s = 0\n", strings.Join(nodes, ", "), batches, "text"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStages trains the transformer in one to four stages: the losses have the same bits, since micro-batches
// belong to the program. Another number of micro-batches rounds otherwise.
func TestStages(t *testing.T) {
	t.Parallel()
	run := func(s *mesh.Strategy) string {
		n := newTransformer(t)
		d, err := mesh.Divide(n.training, s, moves)
		if err != nil {
			t.Fatal(err)
		}
		got, err := train(t, d, n, s.Devices(), ranks.Local(1)[0])
		if err != nil {
			t.Fatal(err)
		}
		return got.text
	}
	want := run(staged(t, 4))
	for _, nodes := range [][]string{{`"attention"`}, {`"norm1"`, `"wide"`}, {`"sum1"`, `"narrow"`, `"loss"`}} {
		if got := run(staged(t, 4, nodes...)); got != want || len(strings.Fields(got)) != 2*trained+1 {
			t.Errorf("stages that begin with %v: the losses are %s, want %s", nodes, got, want)
		}
	}
	if other := run(staged(t, 2)); other == want {
		t.Error("two micro-batches add gradients in the order of four")
	}
}

// chain is a network of products, each with its own weight or, if shared, all with the first one's. Between
// them, a sum may be of all samples.
func chain(t *testing.T, layers int, shared, meet bool) (*graph.Program, graph.Tensor) {
	t.Helper()
	g := graph.New(1)
	x := g.Input("text", dtype.F32, 8, 4)
	var weight graph.Tensor
	for i := range layers {
		var opts []graph.Option
		if shared && i > 0 {
			opts = append(opts, graph.Weight(linear.SlotWeight, weight))
		}
		x = linear.Apply(g, linear.Defaults(4), x, append(opts, graph.Named(fmt.Sprintf("layer%d", i)))...)
		weight = x.Node().Tensor(int(linear.SlotWeight))
		if meet && i == 0 {
			x = elementbinary.Add(g, x, reduce.Sum(g, x, attr.ListOf(0), graph.Named("total")), graph.Named("met"))
		}
		x = elementunary.Tanh(g, x, graph.Named(fmt.Sprintf("tanh%d", i)))
	}
	d := elementbinary.Sub(g, x, g.Input("label", dtype.F32, 8, 4), graph.Named("difference"))
	loss := reduce.Sum(g, elementbinary.Mul(g, d, d, graph.Named("squares")), attr.ListOf(0, 1), graph.Named("loss"))
	p, err := graph.Training(g, loss, adamw.Optimizer(adamw.Defaults().WithAlpha(0.05)))
	if err != nil {
		t.Fatal(err)
	}
	return p, loss
}

// TestOrder draws the order of four stages and eight micro-batches: one forward, one backward, and each stage
// waits 3 of 11 times. The steps of each device are in that order.
func TestOrder(t *testing.T) {
	t.Parallel()
	p, _ := chain(t, 4, false, false)
	s := staged(t, 8, `"layer1"`, `"layer2"`, `"layer3"`)
	d, err := mesh.Divide(p, s, moves)
	if err != nil {
		t.Fatal(err)
	}
	const want = `8 micro-batches in 4 stages; stages wait 27 % of the time if all take equally long
stage 0  F0 F1 F2 F3 .. .. .. B0 F4 B1 F5 B2 F6 B3 F7 B4 .. B5 .. B6 .. B7
stage 1  .. F0 F1 F2 .. .. B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 .. B6 .. B7 ..
stage 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 .. B7 .. ..
stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 .. .. ..
`
	if got := d.Order(); got != want {
		t.Errorf("got the order\n%s\nwant\n%s", got, want)
	}
	for stage := range 4 {
		var ran []string
		for _, step := range d.Program.Steps {
			inv := step.Invocation
			if inv == nil || inv.Node.Device != stage || !strings.HasPrefix(inv.Node.Name, fmt.Sprintf("layer%d[micro-batch ", stage)) {
				continue
			}
			kind := "F"
			if step.Phase == graph.Backward {
				kind = "B"
			}
			ran = append(ran, kind+inv.Node.Name[len("layer0[micro-batch "):len("layer0[micro-batch 0")])
		}
		line := strings.Fields(strings.ReplaceAll(strings.Split(want, "\n")[1+stage], "..", ""))[2:]
		if strings.Join(ran, " ") != strings.Join(line, " ") {
			t.Errorf("stage %d runs %v, want %v", stage, ran, line)
		}
	}
	const two = `4 micro-batches in 2 stages; stages wait 20 % of the time if all take equally long
stage 0  F0 F1 .. B0 F2 B1 F3 B2 .. B3
stage 1  .. F0 B0 F1 B1 F2 B2 F3 B3 ..
`
	if d, err := mesh.Divide(p, staged(t, 4, `"layer2"`), moves); err != nil || d.Order() != two {
		t.Errorf("two stages: got %v and the order\n%s", err, d.Order())
	}
	if d, err := mesh.Divide(p, &mesh.Strategy{}, moves); err != nil || d.Order() != "" {
		t.Errorf("without stages: got the order %q, %v", d.Order(), err)
	}
}

// TestPipelineMeets trains networks whose stages share a weight, or whose micro-batches meet in a sum of all
// samples: a stage then waits, and the losses of one and of several stages have the same bits.
func TestPipelineMeets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ shared, meet bool }{"a shared weight": {shared: true}, "a sum": {meet: true}} {
		var want []float32
		first, loss := chain(t, 3, tt.shared, tt.meet)
		alone := losses(t, first, loss, 1, func(t graph.Tensor, x []float32) []opgen.Value { return []opgen.Value{opgen.With(t, x)} })
		for _, nodes := range [][]string{nil, {`"layer1"`}, {`"layer1"`, `"layer2"`}} {
			p, loss := chain(t, 3, tt.shared, tt.meet)
			s := staged(t, 4, nodes...)
			d, err := mesh.Divide(p, s, moves)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := losses(t, d.Program, d.Parts(loss)[0], s.Devices(), func(t graph.Tensor, x []float32) (out []opgen.Value) {
				for i, part := range mesh.Cut(d, t, x) {
					out = append(out, opgen.With(d.Inputs(t)[i], part))
				}
				return out
			}, p.Fed...)
			for i, loss := range alone {
				if !(math.Abs(float64(got[i]-loss)) <= 1e-5) {
					t.Errorf("%s: the losses are %v, on one device %v", name, got, alone)
				}
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, stages that begin with %v: the losses are %v, want %v", name, nodes, got, want)
			}
		}
	}
}

// losses trains a program of chain and returns the losses of some steps. feed makes values of the elements
// of an input; fed lists the inputs if they are others than those of the program.
func losses(t *testing.T, p *graph.Program, loss graph.Tensor, devices int, feed func(graph.Tensor, []float32) []opgen.Value, fed ...graph.Tensor) (out []float32) {
	t.Helper()
	if fed == nil {
		fed = p.Fed
	}
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		loaded, err := s.Load(t.Context(), p)
		for step := 0; step < trained && err == nil; step++ {
			var values []opgen.Value
			for k, in := range fed {
				x := make([]float32, in.Elements())
				for i := range x {
					x[i] = float32((i*7+k*3+step)%11)/5 - 1
				}
				values = append(values, feed(in, x)...)
			}
			if err = loaded.Run(t.Context(), values...); err != nil {
				return err
			}
			var one []float32
			one, err = opgen.Fetch[float32](loaded, loss)
			out = append(out, one...)
		}
		return err
	}, opgen.Devices(devices), opgen.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != trained || out[0] == out[trained-1] {
		t.Fatalf("want %d losses that change, got %v", trained, out)
	}
	return out
}

// TestPipelineErrors lists programs that are not cut into micro-batches or stages, and what the errors say.
func TestPipelineErrors(t *testing.T) {
	t.Parallel()
	plain := func() *graph.Program { p, _ := chain(t, 3, false, false); return p }
	for name, tt := range map[string]struct {
		program    func() *graph.Program
		toml, want string
	}{
		"no node":         {plain, "stages = [\"layer9\"]\nmicro_batches = 2\ncut.text = 0", `s.toml:2:11: stages: want a node of the network behind the stage before, got "layer9"`},
		"another order":   {plain, "stages = [\"layer2\", \"layer1\"]\nmicro_batches = 2\ncut.text = 0", `s.toml:2:11: stages: want a node of the network before node layer1, with which the next stage begins, got "layer2"`},
		"a node too late": {plain, "stages = [\"layer9\", \"layer1\"]\nmicro_batches = 2\ncut.text = 0", `s.toml:2:11: stages: want a node of the network before node layer1, with which the next stage begins, got "layer9"`},
		"no tensor":       {plain, "micro_batches = 2\ncut.z = 0", "s.toml:3:9: z: want a tensor of a node of the graph, got none of this name"},
		"an extent":       {plain, "micro_batches = 3\ncut.text = 0", "want an axis whose size divides the extent 8 of dimension 0 of text f32[8, 4], got 3 devices on the micro-batches"},
		"a weight":        {plain, "micro_batches = 2\ncut.\"layer1.weight\" = 0", "mesh: node layer1: operator linear, slot weight: want a weight that micro-batches have in common, got layer1.weight f32[4, 4], of which each has a part"},
		"a bias that counts once": {plain, "micro_batches = 2\ncut.\"layer0.output\" = 1",
			"mesh: node layer0: operator linear, slot weight: want a weight that micro-batches have in common, got layer0.weight f32[4, 4], of which each has a part"},
		"statistics of a batch": {func() *graph.Program {
			g := graph.New(1)
			y := batchnorm.Apply(g, batchnorm.Defaults(), g.Input("text", dtype.F32, 8, 4, 2, 2), graph.Named("norm"))
			loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 8, 4, 2, 2)))
			p, err := graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, "micro_batches = 2\ncut.text = 0", "operator batch_norm, slot input: want dimension 0 undivided"},
		"several devices": {func() *graph.Program {
			d, err := mesh.Divide(plain(), staged(t, 2, `"layer1"`), moves)
			if err != nil {
				t.Fatal(err)
			}
			return d.Program
		}, "micro_batches = 1", "want a program for one device, got one that copies"},
	} {
		s, err := mesh.Parse("s.toml", []byte("[pipeline]\n"+tt.toml+"\n"))
		if err == nil {
			_, err = mesh.Divide(tt.program(), s, moves)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
	if _, err := mesh.Divide(plain(), &mesh.Strategy{Pipeline: &mesh.Pipeline{}}, moves); err == nil || err.Error() != "mesh: want 1 micro-batch or more in a pipeline, got 0" {
		t.Errorf("no micro-batches: %v", err)
	}
}
