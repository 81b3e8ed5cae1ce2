package example_test

import (
	"fmt"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
)

const scale = `
edition = 1
name    = "scale"
doc     = "Multiplies rows by a factor."
formula = "output[n, k] = factor * input[n, k]"
[dtypes]
T = ["f32", "f64"]
[attrs]
factor = { type = "float", default = 2.0 }
[slots.input]
role  = "input"
type  = "T"
shape = ["N...", "K"]
[slots.output]
role  = "output"
type  = "T"
shape = ["N...", "K"]
[tasks.forward]
over = "prod(N)"
[[examples]]
input = [5, 2, 3]
`

// resolve returns the model of a spec, or nil if there are findings.
func resolve(inputs []driver.Input, list *diag.List) *model.Module {
	checked := driver.Read(inputs, list)
	if !list.Empty() {
		return nil
	}
	return model.Resolve(checked)
}

func Example() {
	m := resolve([]driver.Input{{Path: "specs/scale.toml", Text: scale}}, &diag.List{})
	o := m.Operators[0]
	for _, c := range example.Choices(o) {
		u, err := example.Use(o, &o.Operator.Examples[0], c)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(c.Types, c.Request, u.Types, u.Dims, u.Attrs, u.Slots[1].Tensors)
	}
	var c example.Choice // of no types
	_, err := example.Use(o, &o.Operator.Examples[0], c)
	fmt.Println(err)
	// Output:
	// [f32] false map[T:f32] map[K:3 N:[5 2]] map[factor:2] [{f32 [5 2 3] 1}]
	// [f64] false map[T:f64] map[K:3 N:[5 2]] map[factor:2] [{f64 [5 2 3] 1}]
	// want a type for each of 1 dtype variables, got 0
}
