package fuse_test

import (
	"fmt"

	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/fuse"
	"github.com/opgen/opgen/runtime/graph"
)

// Linear can compute the activation that follows it.
func Example() {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 2)
	y := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("hidden"))
	z := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), y, graph.Named("relu"))
	p, err := graph.Inference(g, z)
	if err != nil {
		fmt.Println(err)
		return
	}
	fused, applied, err := fuse.Program(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(p.Steps), len(fused.Steps), applied)
	// Output: 2 1 [hidden + relu (relu)]
}
