package opgen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/reshape"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
)

// outsideRows is a program that applies operators to rows of numbers: some in place, a view of an input, and
// products of matrices.
func outsideRows(t testing.TB, n, k int) (p *graph.Program, x, y, probs, view graph.Tensor) {
	t.Helper()
	g := graph.New(1)
	x, y = g.Input("x", dtype.F32, n, k), g.Input("y", dtype.F32, n, k)
	h := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), x)
	h = elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(h), elementbinary.RhsInput(y))
	h = linear.Apply(g, linear.Defaults(k), h)
	probs = softmax.Apply(g, softmax.Defaults(), h)
	view = reshape.Apply(g, reshape.Defaults(attr.ListOf(n*k)), x)
	p, err := graph.Inference(g, probs, view)
	if err != nil {
		t.Fatal(err)
	}
	return p, x, y, probs, view
}

func random(r *rand.Rand, to []float32) {
	for i := range to {
		to[i] = r.Float32() - 0.5
	}
}

// TestCallersMemory compares programs whose tensors live in memory of the caller with one that copies:
// results have the same bits, with any of the tensors outside, on one worker and on several, and also of
// plans in which nothing shares memory.
func TestCallersMemory(t *testing.T) {
	t.Parallel()
	const n, k = 300, 70
	for _, opts := range [][]opgen.Option{{opgen.Workers(1)}, {opgen.Workers(3)}, {opgen.Plain()}, {opgen.Tiled()}, {opgen.Fuse()}, {opgen.Checked()}} {
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, x, y, probs, view := outsideRows(t, n, k)
			copies, err := s.Load(t.Context(), p)
			if err != nil {
				return err
			}
			for outside := range 16 {
				memory := map[graph.Tensor][]float32{x: opgen.Aligned[float32](n * k), y: opgen.Aligned[float32](n * k), probs: opgen.Aligned[float32](n * k), view: opgen.Aligned[float32](n * k)}
				var in []opgen.Memory
				places := map[graph.Tensor]bool{}
				for i, at := range []graph.Tensor{x, y, probs, view} {
					if outside>>i&1 == 1 {
						in, places[at] = append(in, opgen.In(at, memory[at])), true
					}
				}
				q, err := s.Load(t.Context(), p, in...)
				if err != nil {
					return err
				}
				r := rand.New(rand.NewPCG(1, uint64(outside)))
				for range 2 {
					random(r, memory[x])
					random(r, memory[y])
					given := slices.Clone(memory[x])
					if err := copies.Run(t.Context(), opgen.With(x, memory[x]), opgen.With(y, memory[y])); err != nil {
						return err
					}
					var values []opgen.Value
					for _, at := range []graph.Tensor{x, y} {
						if !places[at] {
							values = append(values, opgen.With(at, memory[at]))
						}
					}
					if err := q.Run(t.Context(), values...); err != nil {
						return err
					}
					if !slices.Equal(given, memory[x]) {
						t.Errorf("%b: the program changed an input", outside)
					}
					for _, at := range []graph.Tensor{probs, view} {
						want, err := opgen.Fetch[float32](copies, at)
						if err != nil {
							return err
						}
						got, err := opgen.Fetch[float32](q, at)
						if err != nil || !slices.Equal(got, want) {
							t.Errorf("%b: %v is not what a program with copies gives: %v", outside, at, err)
						}
						if places[at] && !slices.Equal(memory[at], want) {
							t.Errorf("%b: %v is not in memory of the caller", outside, at)
						}
					}
				}
				if err := q.Close(); err != nil {
					return err
				}
			}
			return nil
		}, opts...)
		if err != nil {
			t.Error(err)
		}
	}
}

// TestCallersMemoryIsNotCopied runs a program on a megabyte of the caller's memory: runs allocate nothing,
// and take elements that the caller changed in between.
func TestCallersMemoryIsNotCopied(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F64, 1<<17)
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), x)
	p, err := graph.Inference(g, y)
	if err != nil {
		t.Fatal(err)
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		in, out := opgen.Aligned[float64](1<<17), opgen.Aligned[float64](1<<17)
		q, err := s.Load(t.Context(), p, opgen.In(x, in), opgen.In(y, out))
		if err != nil {
			return err
		}
		run := func() {
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			in[1<<16+i] = float64(i + 1)
			if run(); out[1<<16+i] != float64(i+1) {
				t.Errorf("element %d is %v", 1<<16+i, out[1<<16+i])
			}
		}
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("a run allocates %v times", n)
		}
		return nil
	}, opgen.Workers(1))
	if err != nil {
		t.Error(err)
	}
}

// TestCallersMemoryErrors gives memory that a tensor cannot live in.
func TestCallersMemoryErrors(t *testing.T) {
	t.Parallel()
	p, x, y, probs, view := outsideRows(t, 4, 8)
	hidden := p.Steps[0].Invocation.Node.Tensor(int(elementunary.SlotOutput))
	other := graph.New(1).Input("x", dtype.F32, 4, 8)
	a := opgen.Aligned[float32](100)
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		for name, tt := range map[string]struct {
			memory []opgen.Memory
			want   string
		}{
			"another type":             {[]opgen.Memory{opgen.In(x, opgen.Aligned[float64](32))}, "tensor x: want elements of type f32, got f64"},
			"too few":                  {[]opgen.Memory{opgen.In(x, a[:31])}, "tensor x: want 128 bytes of memory, got 124"},
			"too many":                 {[]opgen.Memory{opgen.In(x, a[:33])}, "tensor x: want 128 bytes of memory, got 132"},
			"not aligned":              {[]opgen.Memory{opgen.In(x, a[1:33])}, fmt.Sprintf("tensor x: want memory aligned to 64 bytes, as that of engine.Aligned is, got address %#x", uintptr(unsafe.Pointer(&a[1])))},
			"twice":                    {[]opgen.Memory{opgen.In(x, a[:32]), opgen.In(x, a[32:64])}, "tensor x: want memory of the caller once, got twice"},
			"input and output":         {[]opgen.Memory{opgen.In(x, a[:32]), opgen.In(probs, a[16:48])}, "want memory of its own for a fetched tensor, got memory that overlaps with that of x"},
			"output and input":         {[]opgen.Memory{opgen.In(probs, a[:32]), opgen.In(x, a[:32])}, "tensor x: want memory of its own for a fetched tensor"},
			"two outputs":              {[]opgen.Memory{opgen.In(probs, a[:32]), opgen.In(view, a[16:48])}, "want memory of its own for a fetched tensor"},
			"neither input nor output": {[]opgen.Memory{opgen.In(hidden, a[:32])}, "want an input or a fetched tensor of its graph in memory of the caller, got " + hidden.String()},
			"another graph":            {[]opgen.Memory{opgen.In(other, a[:32])}, "want an input or a fetched tensor of its graph in memory of the caller, got x f32[4, 8]"},
		} {
			if _, err := s.Load(t.Context(), p, tt.memory...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
			}
		}
		// Inputs may share memory. What is there needs no value, and takes none.
		q, err := s.Load(t.Context(), p, opgen.In(x, a[:32]), opgen.In(y, a[16:48]))
		if err != nil {
			return err
		}
		if err := q.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if err := q.Run(t.Context(), opgen.With(x, a[:32])); err == nil || !strings.Contains(err.Error(), "tensor x: want a tensor in memory of the engine to feed, got one in memory of the caller") {
			t.Errorf("a value for an input in memory of the caller: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// apart is a backend whose memory is its own, as that of a GPU.
type apart struct{ engine.Backend }

// TestCallersMemoryOfDevices wants memory of the caller on a backend that has memory of its own.
func TestCallersMemoryOfDevices(t *testing.T) {
	t.Parallel()
	p, x, _, _, _ := outsideRows(t, 4, 8)
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		_, err := s.Load(t.Context(), p, opgen.In(x, opgen.Aligned[float32](32)))
		wantError(t, err, `want a backend whose tensors may live in memory of the caller, got one for target cpu, whose memory is its own`)
		return nil
	}, opgen.Backend(apart{cpu.New(cpu.Config{Workers: 1})}))
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkCallersMemory runs relu on 4 MiB, with and without copies.
func BenchmarkCallersMemory(b *testing.B) {
	const n = 1 << 20
	g := graph.New(1)
	x := g.Input("x", dtype.F32, n)
	y := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeRelu), x)
	p, err := graph.Inference(g, y)
	if err != nil {
		b.Fatal(err)
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		in, out := opgen.Aligned[float32](n), opgen.Aligned[float32](n)
		copies, err := s.Load(b.Context(), p)
		if err != nil {
			return err
		}
		inPlace, err := s.Load(b.Context(), p, opgen.In(x, in), opgen.In(y, out))
		if err != nil {
			return err
		}
		b.Run("copies", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := copies.Run(b.Context(), opgen.With(x, in)); err != nil {
					b.Fatal(err)
				}
				if _, err := opgen.Fetch[float32](copies, y); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("outside", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := inPlace.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		return nil
	}, opgen.Workers(1))
	if err != nil {
		b.Error(err)
	}
}
