package enginetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/task"
)

// Benchmark measures a backend's part in a task: a plan of 100 tasks, each of one range and each of several
// that workers share. The functions are those of Run.
func Benchmark(b *testing.B, open func(workers int) engine.Backend, register func(*task.Registry) error) {
	ctx, s := context.Background(), newSuite(b, open, register)
	for _, workers := range []int{1, 2} {
		for _, size := range []int{1, 16} {
			b.Run(fmt.Sprintf("workers=%d/ranges=%d", workers, size), func(b *testing.B) {
				e := engine.New(s.registry(b, increment), open(workers), engine.Config{}) // without the checks of Run
				defer func() {
					if err := e.Close(); err != nil {
						b.Error(err)
					}
				}()
				in := s.load(b, e, chain(b, 100, size))
				data := make([]float32, size)
				b.ReportAllocs()
				for b.Loop() {
					if err := engine.Feed(in, "x", data); err != nil {
						b.Fatal(err)
					}
					if err := in.Run(ctx); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/task")
			})
		}
	}
}
