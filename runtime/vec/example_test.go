package vec_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/tensor/tensortest"
	"github.com/opgen/opgen/runtime/vec"
)

// A kernel calls these functions with the lanes of its views.
func Example() {
	x := tensortest.RO([]float32{1, 3, 2, 5, 5, 5}, 2, 3)
	softmax := make([]float32, 6)
	to := tensortest.WO(softmax, 2, 3)
	for i := range 2 {
		fmt.Println(vec.Sum(x.Lane(i)), vec.Max(x.Lane(i)))
		vec.ExpNorm(to.Lane(i), x.Lane(i))
	}
	fmt.Printf("%.3f\n", softmax)
	// Output:
	// 6 3
	// 15 5
	// [0.090 0.665 0.245 0.333 0.333 0.333]
}

// Windows of three elements, two apart, with one element of padding: the first and the last see less.
func ExampleAxis_Window() {
	a := vec.Axis{Extent: 5, Windows: 3, Size: 3, Stride: 2, Padding: 1}
	for i := range a.Windows {
		fmt.Println(a.Window(i))
	}
	// Output:
	// 0 2
	// 1 4
	// 3 5
}
