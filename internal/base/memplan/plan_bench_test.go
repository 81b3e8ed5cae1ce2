package memplan_test

import (
	"testing"

	"github.com/opgen/opgen/internal/base/memplan"
)

// BenchmarkPlan lays out training steps, and reports how long it takes and how close the layout comes to the
// lower bound.
func BenchmarkPlan(b *testing.B) {
	for _, n := range networks() {
		b.Run(n.name, func(b *testing.B) {
			var l *memplan.Layout
			for b.Loop() {
				var err error
				if l, err = memplan.Plan(n.buffers, memplan.DefaultEffort); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)/float64(len(n.buffers))*1e3, "ms/1000buffers")
			b.ReportMetric(float64(l.Bytes)/float64(l.Bound), "bytes/bound")
			b.ReportMetric(float64(l.Bound)/(1<<20), "bound-MiB")
			b.ReportMetric(float64(len(n.buffers)), "buffers")
		})
	}
}
