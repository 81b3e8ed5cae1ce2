package mesh_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/test/replicas"
)

// network returns a graph with a residual: y = x + out(hidden(x)), its softmax, and sums over samples.
func network() *graph.Graph {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 6, 4)
	h := linear.Apply(g, linear.Defaults(8), x, graph.Named("hidden"))
	o := linear.Apply(g, linear.Defaults(4).WithUseBias(false), h, graph.Named("out"))
	y := elementbinary.Add(g, x, o, graph.Named("y"))
	softmax.Apply(g, softmax.Defaults(), y, graph.Named("p"))
	total := reduce.Sum(g, y, attr.ListOf(0), graph.Named("total"))
	elementbinary.Add(g, total, total, graph.Named("twice"))
	return g
}

// two is a mesh of six devices.
var two = []mesh.Axis{{Name: "data", Size: 3}, {Name: "model", Size: 2}}

// TestPropagate completes strategies. A sum over samples stands undivided where it is read.
func TestPropagate(t *testing.T) {
	s := &mesh.Strategy{Mesh: two, Rules: []mesh.Rule{{Tensor: "p.output", Dim: -2, Axis: "data"}, {Tensor: "out.weight", Dim: 1, Axis: "model"}}}
	got, err := mesh.Propagate(network(), s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `x [6/data, 4]
hidden.weight [8/model, 4]
hidden.bias [8/model]
hidden.output [6/data, 8/model]
out.weight [4, 8/model]
out.output [6/data, 4] sums over model
y.output [6/data, 4]
p.output [6/data, 4]
total.output [4] sums over data
`
	if got.String() != want || s.Devices() != 6 {
		t.Errorf("got %d devices and\n%s", s.Devices(), got)
	}
}

// TestErrors lists strategies that do not fit the network, and what the errors say of both sides.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct{ rules, want string }{
		"no tensor":    {`z = { 0 = "data" }`, "s.toml:6:7: z: want a tensor of a node of the graph, got none of this name"},
		"no dimension": {`x = { 2 = "data" }`, "s.toml:6:7: x: want a dimension of x f32[6, 4], got 2"},
		"no axis":      {`x = { 0 = "pipe" }`, `s.toml:6:7: x: want an axis of the mesh, one of data, model, got "pipe"`},
		"two axes of an index": {"x = { 0 = \"data\" }\n\"p.output\" = { 0 = \"model\" }",
			"want one axis of the mesh for an index that tensors have in common, got p.output dimension 0 over model (s.toml:7:16) and x dimension 0 over data (s.toml:6:7)"},
		"two indices over an axis": {"x = { 0 = \"model\" }\n\"hidden.bias\" = { 0 = \"model\" }",
			"want at most one dimension of hidden.output f32[6, 8] over model, got two, by x dimension 0 over model (s.toml:6:7) and hidden.bias dimension 0 over model (s.toml:7:19)"},
		"extent": {`"hidden.bias" = { 0 = "data" }`, "want an axis whose size divides the extent 8 of dimension 0 of hidden.weight f32[8, 4], got 3 devices on data"},
		"all of an index": {`"y.output" = { 1 = "model" }`,
			"mesh: node hidden, divided by y.output dimension 1 over model (s.toml:6:16): operator linear, slot input: want dimension 1 undivided, since each part of the result needs all of it; dimension 0 may be divided, got degree 2"},
	} {
		s, err := mesh.Parse("s.toml", []byte("[mesh]\ndata = 3\nmodel = 2\n\n[divide]\n"+tt.rules+"\n"))
		if err == nil {
			_, err = mesh.Propagate(network(), s)
		}
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}

// TestParseErrors lists files that are no strategies, with the places of what is wrong.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[mesh\n":                "s.toml:2:6: expected",
		"[mesh]\ndata = 0\n":     "s.toml:2:8: axis data: want a size of 1 or more",
		"[mesh]\ndata = \"2\"\n": "s.toml:2:9: axis data: want a size of 1 or more",
		"[mesh]\ndata = 2\n[divide]\nx.a = \"b\"": "s.toml:4:8: x: want the number of a dimension, got \"a\"",
		"[mesh]\ndata = 2\n[divide]\nx.0 = 1\n":   "s.toml:4:7: x: dimension 0: want the name of an axis",
		"[mesh]\ndata = 2\n[stages]\na = 1\n":     "s.toml: want the tables mesh and divide, got stages",
	} {
		if _, err := mesh.Parse("s.toml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
	}
}

// TestReplicas tells strategies for replicas from others.
func TestReplicas(t *testing.T) {
	sums := func(read bool) *graph.Graph {
		g := graph.New(1)
		y := linear.Apply(g, linear.Defaults(2), g.Input("x", dtype.F32, 6, 4), graph.Named("y"))
		total := reduce.Sum(g, y, attr.ListOf(0), graph.Named("total"))
		if read {
			elementbinary.Add(g, total, total)
		}
		return g
	}
	x := mesh.Rule{Tensor: "x", Axis: "data"}
	for name, tt := range map[string]struct {
		graph *graph.Graph
		mesh  []mesh.Axis
		rule  mesh.Rule
		want  string // the error, or "" for three
	}{
		"samples":      {sums(false), two[:1], x, ""},
		"a sum":        {sums(true), two[:1], x, "mesh: node element_binary: want replicas, which share nothing but gradients, got the sum total.output f32[2] over data"},
		"unused":       {sums(false), two, x, "mesh: want a rule that divides tensors over each axis, got none for model"},
		"a weight":     {sums(false), two[1:], mesh.Rule{Tensor: "y.bias", Axis: "model"}, "want replicas, which have all weights, got the weight y.weight f32[2, 4] divided along dimension 0"},
		"no first one": {features(), two[1:], mesh.Rule{Tensor: "x", Dim: 1, Axis: "model"}, "want replicas, which have parts of the first dimension of inputs, got x f32[6, 4] divided along dimension 1"},
	} {
		s, err := mesh.Propagate(tt.graph, &mesh.Strategy{Mesh: tt.mesh, Rules: []mesh.Rule{tt.rule}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n, err := s.Replicas()
		if tt.want == "" && (n != 3 || err != nil) || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)) {
			t.Errorf("%s: got %d, %v\nwant %s", name, n, err, tt.want)
		}
	}
}

// features returns a graph without weights.
func features() *graph.Graph {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 6, 4)
	elementbinary.Add(g, x, x)
	return g
}

// TestRanks trains a network of two layers whose batch a strategy divides among four devices, on one to four
// ranks within this process. The losses have the same bits.
func TestRanks(t *testing.T) {
	t.Parallel()
	net := func(device, samples int) (g *graph.Graph, loss graph.Tensor) {
		g = graph.OnDevice(1, device)
		h := linear.Apply(g, linear.Defaults(16), g.Input("x", dtype.F32, samples, 4), graph.Named("hidden"))
		y := linear.Apply(g, linear.Defaults(2), elementunary.Relu(g, h), graph.Named("out"))
		sum := meansquarederror.Defaults().WithScaleFactor(1 / float64(samples))
		return g, meansquarederror.Apply(g, sum, meansquarederror.Logit(y), meansquarederror.Label(g.Input("label", dtype.F32, samples, 2)))
	}
	const samples = 8
	whole, _ := net(0, samples)
	sharding, err := mesh.Propagate(whole, &mesh.Strategy{Mesh: []mesh.Axis{{Name: "data", Size: 4}}, Rules: []mesh.Rule{{Tensor: "x", Axis: "data"}}})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := sharding.Replicas()
	if err != nil {
		t.Fatal(err)
	}
	train := func(transport ranks.Transport) (losses string, err error) {
		var parts []graph.Replica
		for d := range devices {
			_, loss := net(d, samples/devices)
			share := 1 / float64(devices)
			parts = append(parts, graph.Replica{Loss: loss, Share: graph.Share{Loss: share, Aux: share}})
		}
		prog, err := graph.DataParallel(parts, sgd.Optimizer(sgd.Defaults(0.1)))
		if err != nil {
			return "", err
		}
		err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, err := s.Load(context.Background(), prog)
			for step := 0; step < 5 && err == nil; step++ {
				if err = p.Run(context.Background(), replicas.Inputs(prog, step)...); err != nil {
					return err
				}
				for _, r := range parts {
					loss, err := opgen.Fetch[float32](p, r.Loss)
					if err != nil {
						return err
					}
					losses += fmt.Sprintf("%x ", loss)
				}
			}
			return err
		}, opgen.Ranks(transport), opgen.Devices(devices), opgen.Workers(1))
		return losses, err
	}
	var want string
	for n := 1; n <= 4; n++ {
		all := make([]string, n)
		var done sync.WaitGroup
		for rank, transport := range ranks.Local(n) {
			done.Go(func() {
				var err error
				if all[rank], err = train(transport); err != nil {
					t.Errorf("rank %d of %d: %v", rank, n, err)
				}
			})
		}
		done.Wait()
		for rank, losses := range all {
			if want == "" {
				want = losses
			}
			if losses != want || len(strings.Fields(losses)) != 5*devices {
				t.Errorf("rank %d of %d has the losses %s, want %s", rank, n, losses, want)
			}
		}
	}
}
