package perm_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/perm"
)

// Two tasks conflict on a tensor if one of them writes it. Reductions write.
func ExampleConflict() {
	fmt.Println(perm.Conflict(perm.Read, perm.Read), perm.Conflict(perm.Read, perm.Write), perm.Conflict(perm.Reduce, perm.Reduce))
	// Output: false true true
}
