package project_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/plan/project"
)

// Two ranks share four devices, each of which has neighbors.
func ExampleOwners() {
	fmt.Println(project.Owners(4, 2))
	fmt.Println(project.Owners(2, 3))
	// Output:
	// [0 0 1 1] <nil>
	// [] project: want at least one device for each rank, got 2 devices for 3 ranks
}
