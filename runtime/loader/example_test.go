package loader_test

import (
	"context"
	"fmt"

	"github.com/opgen/opgen/runtime/loader"
)

// A loader reads samples in an order that the seed decides, some batches ahead.
func Example() {
	words := []string{"ant", "bee", "cat", "dog", "eel"}
	l, err := loader.New(loader.Config{Samples: len(words), Batch: 2, Epochs: 2, Seed: 1, Ahead: 2},
		func(_ context.Context, samples []int) (batch []string, err error) {
			for _, i := range samples {
				batch = append(batch, words[i])
			}
			return batch, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	for b, err := range l.From(context.Background(), 2) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Step, b.Epoch, b.Data)
	}
	// Output:
	// 2 0 [dog]
	// 3 1 [cat dog]
	// 4 1 [eel ant]
	// 5 1 [bee]
}
