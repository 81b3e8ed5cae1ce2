package curves_test

import (
	"bytes"
	"fmt"

	"github.com/opgen/opgen/runtime/curves"
)

// Two trainings beside each other on a page, from which they are read again.
func ExampleHTML() {
	runs := []*curves.Run{{Name: "rate 0.1"}, {Name: "rate 0.2"}}
	for i, r := range runs {
		for step := 1; step <= 3; step++ {
			r.Curve("loss").Add(step, 1/float64(step+i))
		}
	}
	var page bytes.Buffer
	if err := curves.HTML(&page, "Trainings", runs...); err != nil {
		fmt.Println(err)
		return
	}
	again, err := curves.Read(&page)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range again {
		fmt.Printf("%s: %.2f\n", r.Name, r.Curve("loss").Values)
	}
	// Output:
	// rate 0.1: [1.00 0.50 0.33]
	// rate 0.2: [0.50 0.33 0.25]
}
