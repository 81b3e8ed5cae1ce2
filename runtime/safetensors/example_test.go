package safetensors_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/safetensors"
)

func Example() {
	weight, err := safetensors.Of([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := safetensors.File{Tensors: map[string]safetensors.Tensor{"weight": weight}}
	data, err := f.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := safetensors.Decode(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	elements, err := safetensors.Elements[float32](g.Tensors["weight"])
	fmt.Println(g.Tensors["weight"].Shape, elements, err)
	// Output: [2 3] [1 2 3 4 5 6] <nil>
}
