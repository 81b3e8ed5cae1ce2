package driver_test

import (
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

// TestFollowedScatter checks that backward of a formula is known to add to a gradient element by element,
// unless the operator has a kernel by hand.
func TestFollowedScatter(t *testing.T) {
	const spec = `doc = "Picks elements of a table, and doubles numbers."
formula = "output[n, k] = table[index[n], k] + 2 * input[n, k]"
examples = [{ table = [4, 3], index = [2], input = [2, 3] }]
[slots]
table  = { role = "input", shape = ["R", "K"] }
index  = { role = "input", type = "i32", shape = ["N"], below = "R" }
input  = { role = "input", shape = ["N", "K"] }
output = { role = "output", shape = ["N", "K"] }
[tasks]
forward  = { over = "N" }
backward = { over = "N" }
`
	for _, kernels := range [][]string{nil, {"kernels/op.go"}} {
		o := operatorOf(t, spec, kernels...)
		got := map[string]bool{}
		for _, p := range o.Task(task.KindBackward).Params {
			if p.Grad && p.Slot.Role == task.RoleInput {
				got[p.Name] = p.Scatter
			}
		}
		if len(got) != 2 || got["table"] != (kernels == nil) || got["input"] {
			t.Errorf("kernels %q: want a scatter of table without a kernel by hand, got %v", kernels, got)
		}
	}
}
