package formula_test

import (
	"fmt"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// A registry with the formula of an operator alone runs programs with it, without a kernel.
func ExampleRegister() {
	g := graph.New(1)
	y := softmax.Apply(g, softmax.Defaults(), g.Input("x", dtype.F64, 2), graph.Named("y"))
	program, err := graph.Inference(g, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	register := func(r *task.Registry) error { return formula.Register(r, op.CPU, &softmax.Operator.Operator) }
	out, err := optest.Run(register, program, map[string][]float64{"x": {0, 2}}, optest.Execution{})
	fmt.Printf("%.3f %v\n", out[y.Name()], err)
	// Output: [0.119 0.881] <nil>
}
