package kernels

import (
	"context"
	"math"
	"runtime/trace"

	"github.com/opgen/opgen/generated/fft"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/fourier"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/raw"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Fft is the kernel of fft. It computes in float64, whatever the type of the tensors is.
type Fft[T dtype.Float] struct{}

// Init makes the tables for the length of a lane.
func (Fft[T]) Init(_ *op.Ctx, a *fft.Init[T]) (*fourier.Transform, error) {
	axis := a.Attrs.Dim
	if axis < 0 {
		axis += len(a.Parts.Extents)
	}
	if a.Parts.Degrees[axis] > 1 {
		return nil, &op.Error{Operator: "fft", Task: "init", Slot: "input", Want: "lanes that are not divided", Got: a.Parts.String()}
	}
	alloc := func(n int) ([]float64, error) { return task.Alloc[float64](a.Memory, n) }
	return fourier.New(a.Parts.Extents[axis], a.Handle.Device, alloc)
}

// Forward transforms lanes.
func (Fft[T]) Forward(ctx *op.Ctx, a *fft.Forward[T], r op.Range) error {
	defer traced(a.Profiling, a.Transform)()
	factor, p := factorOf(a.Attrs.Norm, a.Dims.R), placesOf(a.Transform, a.Work.Of(ctx.Worker))
	for i := r.Lo; i < r.Hi; i++ {
		in, outRe, outIm := a.Input.Lane(i), a.Real.Lane(i), a.Imag.Lane(i)
		for n := range in.Len() {
			p.re[n], p.im[n] = float64(in.At(n)), 0
		}
		p.run()
		for k := range outRe.Len() {
			outRe.Set(k, T(factor*p.re[k]))
			outIm.Set(k, T(factor*p.im[k]))
		}
	}
	return nil
}

// Backward transforms the conjugate of the output's gradient along each lane. The real part of the result is
// the gradient of the input.
func (Fft[T]) Backward(ctx *op.Ctx, a *fft.Backward[T], r op.Range) error {
	defer traced(a.Profiling, a.Transform)()
	factor, p := factorOf(a.Attrs.Norm, a.Dims.R), placesOf(a.Transform, a.Work.Of(ctx.Worker))
	for i := r.Lo; i < r.Hi; i++ {
		gradRe, gradIm, to := a.GradReal.Lane(i), a.GradImag.Lane(i), a.GradInput.Lane(i)
		for k := range gradRe.Len() {
			p.re[k], p.im[k] = float64(gradRe.At(k)), -float64(gradIm.At(k))
		}
		for k := gradRe.Len(); k < a.Dims.R; k++ { // frequencies that are left out
			p.re[k], p.im[k] = 0, 0
		}
		p.run()
		for n := range to.Len() {
			to.Put(n, T(factor*p.re[n]))
		}
	}
	return nil
}

// Cleanup frees the tables.
func (Fft[T]) Cleanup(_ *op.Ctx, a *fft.Cleanup[T]) error {
	return a.Transform.Free(func(table []float64) error { return task.Free(a.Memory, table) })
}

// traced begins a region of the trace, which ends with the call of the function that it returns. A trace has
// regions while runs are measured.
func traced(p task.Profiling, t *fourier.Transform) (end func()) {
	if !p.On {
		return func() {}
	}
	return trace.StartRegion(context.Background(), t.Name).End
}

// factorOf returns what frequencies of lanes of n numbers are multiplied by.
func factorOf(norm fft.Norm, n int) float64 {
	switch norm {
	case fft.NormForward:
		return 1 / float64(n)
	case fft.NormOrtho:
		return 1 / math.Sqrt(float64(n))
	}
	return 1
}

// places holds a lane as complex numbers, and the places between which a transform moves them.
type places struct {
	transform        *fourier.Transform
	re, im, re2, im2 []float64
}

// placesOf cuts a worker's scratch memory into places.
func placesOf(t *fourier.Transform, work tensor.RW[float64]) places {
	room := t.Room()
	cut := func(i int) []float64 {
		x, _ := raw.Writable(work.Span(i*room, (i+1)*room).WO()) //opgen:raw a transform goes over its numbers many times, in passes over slices
		return x
	}
	return places{t, cut(0), cut(1), cut(2), cut(3)}
}

func (p *places) run() { p.transform.Run(p.re, p.im, p.re2, p.im2) }
