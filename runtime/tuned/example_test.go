package tuned_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/tuned"
)

// A table has one entry for a device and uses, and is written in order.
func Example() {
	t := &tuned.Table{}
	on := tuned.Device{Processor: "any", Workers: 1}
	use := tuned.Use{Operator: "softmax", Task: "forward", Attrs: `{"dim":1}`, Types: "f32", Shapes: "input=32x1024"}
	t.Set(tuned.Entry{Device: on, Use: use, Ranges: 4})
	t.Set(tuned.Entry{Device: on, Use: use, Ranges: 1})
	fmt.Print(t.Text())
	// Output:
	// # Choices that opgen tune has measured, one a line. They change the time of tasks, and no results.
	// edition = 1
	// entry = [
	//   { processor = "any", workers = 1, operator = "softmax", task = "forward", attrs = '{"dim":1}', types = "f32", shapes = "input=32x1024", ranges = 1 },
	// ]
}
