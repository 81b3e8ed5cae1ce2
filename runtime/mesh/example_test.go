package mesh_test

import (
	"fmt"

	_ "github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
)

// Two words divide a network of two layers among four devices: the batch over two of them, and the hidden
// features over two. Each device computes a part of the hidden features, and a partial sum of the output. One
// of two adds the bias.
func Example() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 8, 4)
	h := linear.Apply(g, linear.Defaults(16), x, graph.Named("hidden"))
	h = elementunary.Relu(g, h, graph.Named("relu"))
	linear.Apply(g, linear.Defaults(2), h, graph.Named("out"))

	strategy, err := mesh.Parse("strategy.toml", []byte(`
[mesh]
data  = 2
model = 2

[divide]
x               = { 0 = "data" }
"hidden.weight" = { 0 = "model" }
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	sharding, err := mesh.Propagate(g, strategy)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(strategy.Devices(), " devices\n", sharding)
	fmt.Println(h, sharding.Of(h))
	// Output:
	// 4 devices
	// x [8/data, 4]
	// hidden.weight [16/model, 4]
	// hidden.bias [16/model]
	// hidden.output [8/data, 16/model]
	// relu.output [8/data, 16/model]
	// out.weight [2, 16/model]
	// out.bias [2] once over model
	// out.output [8/data, 2] sums over model
	// relu.output f32[8, 16] [8/2, 16/2]
}
