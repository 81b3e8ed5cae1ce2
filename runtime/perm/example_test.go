package perm_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/perm"
)

// Two tasks conflict on a tensor if one of them writes it. Reductions with one operator commute.
func ExampleConflict() {
	fmt.Println(perm.Conflict(perm.Read, 0, perm.Read, 0), perm.Conflict(perm.Read, 0, perm.Write, 0))
	fmt.Println(perm.Conflict(perm.Reduce, perm.Sum, perm.Reduce, perm.Sum), perm.Conflict(perm.Reduce, perm.Sum, perm.Reduce, perm.Max))
	// Output:
	// false true
	// false true
}
