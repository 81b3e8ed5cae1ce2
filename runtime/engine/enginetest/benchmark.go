package enginetest

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/task"
)

// Benchmark measures a backend's part in a task: a plan of 100 tasks, each of one range and each of several
// that workers share. The functions are those of Run.
func Benchmark(b *testing.B, open func(workers int) engine.Backend, register func(*task.Registry) error) {
	s := newSuite(b, open, register)
	for _, workers := range []int{1, 2} {
		for _, size := range []int{1, 16} {
			b.Run(fmt.Sprintf("workers=%d/ranges=%d", workers, size), func(b *testing.B) {
				in := s.load(b, s.engine(b, s.registry(b, increment), workers, engine.Config{}), chain(b, 100, size))
				data := make([]float32, size)
				b.ReportAllocs()
				for b.Loop() {
					feed(b, in, "x", data...)
					run(b, in)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/task")
			})
		}
	}
}
