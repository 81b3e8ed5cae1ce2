package cuda_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/opgen/opgen/runtime/cuda"
)

// A run whose kernel does not go on has an error that names the tasks.
func ExampleStuckError() {
	var err error = &cuda.StuckError{Worker: 2, Waiting: "fc2: linear.forward", For: 0, At: "fc1: linear.forward", Ended: true, Waited: time.Second}
	var stuck *cuda.StuckError
	if errors.As(err, &stuck) {
		fmt.Println(stuck.At, stuck.Ended)
	}
	// Output: fc1: linear.forward true
}
