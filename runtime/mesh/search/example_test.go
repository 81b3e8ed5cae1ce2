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

// moves cut by slice and join by concat.
var moves = mesh.Moves{
	Cut: func(dim, from, count int) (*graph.Operator, task.Attrs) {
		return slice.Operator, slice.Defaults(from, count).WithAxis(dim)
	},
	Join: func(dim int) (*graph.Operator, task.Attrs) { return concat.Operator, concat.Defaults(dim) },
}

// A network of two layers has large weights and few samples. The fastest strategy that is found divides the
// hidden features between two devices, and is faster than one device alone. It is written as a file.
func Example() {
	g := graph.New(1)
	h := linear.Apply(g, linear.Defaults(64), g.Input("x", dtype.F32, 2, 32), graph.Named("hidden"))
	y := linear.Apply(g, linear.Defaults(32), elementunary.Relu(g, h), graph.Named("out"))
	program, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine := search.Machine{Rate: 1e9, Bandwidth: 1e9, Link: 5e8, Latency: 1e-6}
	alone, _, err := machine.Predict(program, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := search.Best(program, search.Config{
		Devices: 2,
		Machine: machine,
		Moves:   moves,
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
	fmt.Printf("%.1f us instead of %.1f, with %d messages\n%s", best.Seconds*1e6, alone.Seconds*1e6, best.Messages, file)
	// Output:
	// 14.5 us instead of 19.3, with 3 messages
	// [mesh]
	// data = 2
	//
	// [divide]
	// [divide."hidden.weight"]
	// 0 = "data"
}
