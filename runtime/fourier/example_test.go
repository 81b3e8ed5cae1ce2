package fourier_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/fourier"
)

// The transform of 1, 0, -1, 0 has two peaks: one turn in four steps, and three turns.
func Example() {
	t, err := fourier.New(4, 0, func(n int) ([]float64, error) { return make([]float64, n), nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	re, im := make([]float64, t.Room()), make([]float64, t.Room())
	copy(re, []float64{1, 0, -1, 0})
	t.Run(re, im, make([]float64, t.Room()), make([]float64, t.Room()))
	fmt.Printf("%.0f\n", re[:4])
	// Output:
	// [0 2 0 2]
}
