package conform_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/task"
)

// The cases of an operator run with the kernels of the catalogue.
func Example() {
	cases, _, err := conform.LoadAll(conform.Cases(), "softmax")
	if err != nil {
		fmt.Println(err)
		return
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		fmt.Println(err)
		return
	}
	r := &conform.Runner{Registry: &registry, Operators: catalogue.Operators(), Backend: func() (engine.Backend, error) { return cpu.New(cpu.Config{}), nil }}
	failed := 0
	for _, c := range cases {
		if result := r.Run(context.Background(), c); result.Status != conform.Passed {
			failed++
		}
	}
	fmt.Println(len(cases) > 0, failed, r.Close())
	// Output: true 0 <nil>
}
