package dtype_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
)

func Example() {
	t, err := dtype.Parse("bf16")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t, t.Size(), t.IsFloat(), dtype.Of[float32]())
	// Output: bf16 2 true f32
}
