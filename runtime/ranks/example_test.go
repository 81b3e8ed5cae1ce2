package ranks_test

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/ranks"
)

// Rank 0 sends a message to rank 1, which then ends what both do: later calls return its error on both.
func ExampleLocal() {
	all := ranks.Local(2)
	sent := all[0].Send(1, []byte("gradient"))
	data := make([]byte, 8)
	fmt.Println(all[1].Receive(0, data).Wait(), string(data))
	fmt.Println(sent.Wait())

	all[1].Abort("out of memory")
	var failed *ranks.Error
	if err := all[0].Send(1, nil).Wait(); errors.As(err, &failed) {
		fmt.Println(failed.Rank, failed.Message)
	}
	// Output:
	// <nil> gradient
	// <nil>
	// 1 out of memory
}
