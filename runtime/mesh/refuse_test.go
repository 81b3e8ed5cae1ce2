package mesh_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/embeddingbag"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
)

// TestDivideErrors lists programs that strategies do not divide, and what the errors say.
func TestDivideErrors(t *testing.T) {
	t.Parallel()
	// layers returns a graph with two matrix products, and their outputs.
	layers := func() (g *graph.Graph, hidden, out graph.Tensor) {
		g = graph.New(1)
		hidden = linear.Apply(g, linear.Defaults(4), g.Input("x", dtype.F32, 6, 4), graph.Named("hidden"))
		return g, hidden, linear.Apply(g, linear.Defaults(4), hidden, graph.Named("out"))
	}
	infer := func(g *graph.Graph, t graph.Tensor) (*graph.Program, error) { return graph.Inference(g, t) }
	for name, tt := range map[string]struct {
		program     func() (*graph.Program, error)
		rules, want string
	}{
		"a movement of a weight": {func() (*graph.Program, error) { g, _, y := layers(); return infer(g, y) },
			"[read]\n\"hidden.weight\" = { 0 = \"b\" }", "s.toml:5:21: hidden.weight: want the output of a node of the graph, got none of this name"},
		"a movement of an input": {func() (*graph.Program, error) { g, _, y := layers(); return infer(g, y) },
			"[read]\nx = { 0 = \"b\" }", "s.toml:5:7: x: want the output of a node of the graph, got none of this name"},
		"a bias that counts once and for all": {func() (*graph.Program, error) {
			g, _, y := layers()
			y = linear.Apply(g, linear.Defaults(4), y, graph.Weight(linear.SlotBias, y.Node().Tensor(int(linear.SlotBias))), graph.Named("again"))
			return infer(g, y)
		}, "[divide]\n\"hidden.weight\" = { 0 = \"b\" }",
			"mesh: node again: operator linear, slot bias: want a weight that all nodes add once over b, got out.bias f32[4], of which this node needs all on each device"},
		"a bias that counts once over two axes": {func() (*graph.Program, error) {
			g, _, y := layers()
			y = linear.Apply(g, linear.Defaults(4), y, graph.Named("wide"))
			y = linear.Apply(g, linear.Defaults(4), y, graph.Weight(linear.SlotBias, g.Nodes()[1].Tensor(int(linear.SlotBias))), graph.Named("again"))
			return infer(g, y)
		}, "[divide]\n\"hidden.weight\" = { 0 = \"b\" }\n\"wide.weight\" = { 0 = \"a\" }",
			"operator linear, slot bias: want a weight that counts once over one axis of the mesh, got out.bias over b and a"},
		"a gradient beside a bias that counts once": {func() (*graph.Program, error) {
			g, _, y := layers()
			y = elementbinary.Add(g, y, elementbinary.Mul(g, y, y.Node().Tensor(int(linear.SlotBias)), graph.Named("scaled")))
			loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 6, 4)))
			return graph.Training(g, loss, sgd.Optimizer(sgd.Defaults(0.1)))
		}, "[divide]\n\"hidden.weight\" = { 0 = \"b\" }",
			"node scaled: operator element_binary, task backward, slot lhs_input: want no gradient of what all devices have, beside a weight that counts once over b, got grad of out.output f32[6, 4]"},
		"a division beside a bias that counts once": {func() (*graph.Program, error) {
			g, hidden, y := layers()
			scaled := elementbinary.Mul(g, hidden.Node().Tensor(int(linear.SlotWeight)), y.Node().Tensor(int(linear.SlotBias)), graph.Named("scaled"))
			return graph.Inference(g, y, scaled)
		}, "[divide]\n\"hidden.weight\" = { 0 = \"b\" }",
			"node scaled: operator element_binary, task forward, slot lhs_input: want a tensor undivided over b, beside a weight that counts once over it, got hidden.weight f32[4, 4]"},
		"an index of the rows of bags and one of their features, which no tensor has both": {func() (*graph.Program, error) {
			g := graph.New(1)
			bags := embeddingbag.Defaults(5, 4).WithMode(embeddingbag.ModeSum)
			return infer(g, embeddingbag.Apply(g, bags, g.Input("index", dtype.I32, 6, 4), graph.Named("bags")))
		}, "[divide]\nindex = { 1 = \"b\" }\n\"bags.weight\" = { 1 = \"b\" }",
			"mesh: node bags: operator embedding_bag, slot weight: want at most one index over b, got two, by index dimension 1 over b (s.toml:5:11) and bags.weight dimension 1 over b (s.toml:6:19)"},
		"an order": {func() (*graph.Program, error) {
			g, hidden, y := layers()
			y.Node().After(hidden.Node())
			return infer(g, y)
		}, "[divide]\nx = { 0 = \"b\" }", "mesh: program inference, step 1: node out: want no explicit dependencies in a program that is divided, got one on node hidden"},
		"several devices": {func() (*graph.Program, error) {
			var parts []graph.Replica
			for device := range 2 {
				g := graph.OnDevice(1, device)
				y := linear.Apply(g, linear.Defaults(4), g.Input("x", dtype.F32, 6, 4), graph.Named("y"))
				loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, 6, 4)))
				parts = append(parts, graph.Replica{Loss: loss, Share: graph.Share{Loss: 0.5, Aux: 0.5}})
			}
			return graph.DataParallel(parts, sgd.Optimizer(sgd.Defaults(0.1)))
		}, "", "want a program for one device, got one that adds tensors of several"},
	} {
		p, err := tt.program()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := mesh.Parse("s.toml", []byte("[mesh]\na = 2\nb = 2\n"+tt.rules+"\n"))
		if err == nil {
			_, err = mesh.Divide(p, s, moves)
		}
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
