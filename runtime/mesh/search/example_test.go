package search_test

import (
	"fmt"

	_ "github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/slice"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/mesh/search"
	"github.com/opgen/opgen/runtime/task"
)

// A network of two layers has large weights and few samples, and links are slow. The fastest strategy that is
// found divides the features of the output between two devices: both compute the hidden features, and only
// parts of the output are sent. The strategy is written as a file.
func Example() {
	g := graph.New(1)
	h := linear.Apply(g, linear.Defaults(64), g.Input("x", dtype.F32, 2, 32), graph.Named("hidden"))
	y := linear.Apply(g, linear.Defaults(32), elementunary.Relu(g, h), graph.Named("out"))
	program, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := search.Best(program, search.Config{
		Devices: 2,
		Machine: search.Machine{Rate: 1e9, Bandwidth: 1e9, Link: 1e8, Latency: 1e-6},
		Moves: mesh.Moves{
			Cut: func(dim, from, count int) (*graph.Operator, task.Attrs) {
				return slice.Operator, slice.Defaults(from, count).WithAxis(dim)
			},
			Join: func(dim int) (*graph.Operator, task.Attrs) { return concat.Operator, concat.Defaults(dim) },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := best.Strategy.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d messages\n%s", best.Messages, file)
	// Output:
	// 2 messages
	// [divide]
	// [divide."out.weight"]
	// 0 = "data"
	//
	// [mesh]
	// data = 2
}
