package kernels

import (
	"math"

	"example.com/module/generated/logshare"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// LogShare is the kernel of log_share.
type LogShare[T dtype.Float] struct{}

// Forward computes elements r.Lo to r.Hi-1.
func (LogShare[T]) Forward(_ *op.Ctx, a *logshare.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		count := 0.0
		for n := range a.Input.Len() {
			if int(math.Floor(float64(a.Input.At(n))*2)) == i {
				count++
			}
		}
		share := math.Log(count / float64(a.Input.Len()))
		a.Output.Set(i, T(share))
	}
	return nil
}
