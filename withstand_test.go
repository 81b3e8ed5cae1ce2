package opgen_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/kernels"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// hooked is a kernel of topk that calls a function first.
type hooked struct {
	kernels.Topk[float32]
	hook *func(ctx *op.Ctx, r op.Range) error
}

func (k hooked) Forward(ctx *op.Ctx, a *topk.Forward[float32], r op.Range) error {
	if err := (*k.hook)(ctx, r); err != nil {
		return err
	}
	return k.Topk.Forward(ctx, a, r)
}

type hookedSet struct {
	hook *func(ctx *op.Ctx, r op.Range) error
}

func (s hookedSet) F32() topk.Kernel[float32]               { return hooked{hook: s.hook} }
func (hookedSet) F64() topk.Kernel[float64]                 { return kernels.Topk[float64]{} }
func (hookedSet) I32() topk.Kernel[int32]                   { return kernels.Topk[int32]{} }
func (hookedSet) I64() topk.Kernel[int64]                   { return kernels.Topk[int64]{} }
func (hookedSet) F32Backward() topk.BackwardKernel[float32] { return kernels.TopkBackward[float32]{} }
func (hookedSet) F64Backward() topk.BackwardKernel[float64] { return kernels.TopkBackward[float64]{} }

// fixture is a session with a program that calls hook for each range.
type fixture struct {
	s    *opgen.Session
	p    *opgen.Program
	x, y graph.Tensor
	hook func(ctx *op.Ctx, r op.Range) error
}

const rows = 8192 // of which several ranges are made

func (f *fixture) run() error {
	return f.p.Run(context.Background(), opgen.With(f.x, make([]float32, 2*rows)))
}

// withHook calls a function with sessions of several kinds.
func withHook(t *testing.T, test func(t *testing.T, f *fixture)) {
	for name, opts := range map[string][]opgen.Option{
		"1 worker": {opgen.Workers(1)}, "2 workers": {opgen.Workers(2)}, "8 workers": {opgen.Workers(8)}, "checked": {opgen.Checked()},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{hook: func(*op.Ctx, op.Range) error { return nil }}
			register := func(r *task.Registry) error { return topk.Register(r, op.CPU, hookedSet{&f.hook}) }
			err := opgen.Do(register, func(s *opgen.Session) (err error) {
				g := graph.New(1)
				f.s, f.x = s, g.Input("x", dtype.F32, rows, 2)
				f.y = topk.Apply(g, topk.Defaults(1), f.x).Output
				if f.p, err = s.Inference(context.Background(), g, f.y); err == nil {
					test(t, f)
				}
				return err
			}, opts...)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// refuses runs a program whose kernel does what it must not. The run fails, and the next one does not.
func (f *fixture) refuses(t *testing.T, want string, hook func(ctx *op.Ctx, r op.Range) error) {
	t.Helper()
	good := f.hook
	f.hook = hook
	err := f.run()
	f.hook = good
	var failed *engine.TaskError
	if !errors.As(err, &failed) || failed.Operator != "topk" || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant an error of topk: ...%s", err, want)
	}
	if err := f.run(); err != nil {
		t.Errorf("the next run: %v", err)
	}
}

// broken is an error whose methods fail for nil.
type broken struct{ text string }

func (b *broken) Error() string { return b.text }

// TestF16NilErrors returns pointers that are nil as errors.
func TestF16NilErrors(t *testing.T) {
	t.Parallel()
	withHook(t, func(t *testing.T, f *fixture) {
		f.refuses(t, "a nil *op.Error as an error", func(*op.Ctx, op.Range) error { return (*op.Error)(nil) })
		f.refuses(t, "a nil *opgen_test.broken as an error", func(*op.Ctx, op.Range) error { return (*broken)(nil) })
		f.refuses(t, "<nil>", func(*op.Ctx, op.Range) error { return fmt.Errorf("in it: %w", (*op.Error)(nil)) })
	})
}

// TestF16Goexit ends the goroutine of a kernel: that of each range, and that of the last one.
func TestF16Goexit(t *testing.T) {
	t.Parallel()
	withHook(t, func(t *testing.T, f *fixture) {
		for range 3 {
			f.refuses(t, "the goroutine was ended", func(*op.Ctx, op.Range) error { runtime.Goexit(); return nil })
			f.refuses(t, "the goroutine was ended", func(_ *op.Ctx, r op.Range) error {
				if r.Hi == rows {
					runtime.Goexit()
				}
				return nil
			})
		}
	})
}

// TestF16CallsItsEngine calls the session from a kernel that it waits for.
func TestF16CallsItsEngine(t *testing.T) {
	t.Parallel()
	withHook(t, func(t *testing.T, f *fixture) {
		for name, call := range map[string]func() error{
			"Run":           f.run,
			"Fetch":         func() error { _, err := opgen.Fetch[float32](f.p, f.y); return err },
			"Shape":         func() error { _, err := f.p.Shape(f.y); return err },
			"Program.Close": f.p.Close,
			"Session.Close": f.s.Close,
			"Load":          func() error { _, err := f.s.Load(context.Background(), &graph.Program{}); return err },
			"SaveVariables": func() error { return f.s.SaveVariables(t.TempDir() + "/x") },
		} {
			f.refuses(t, "want a call from outside", func(*op.Ctx, op.Range) error {
				if err := call(); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return errors.New(name + " works")
			})
		}
		f.refuses(t, "want a call from outside", func(*op.Ctx, op.Range) error { f.p.Timings(); return nil })
		f.refuses(t, "for use", func(*op.Ctx, op.Range) error {
			if f.s.Memory().Used > 0 {
				return errors.New("for use") // Memory may be called
			}
			return nil
		})
	})
}

// TestF16Admit calls the engine from the callback that admits memory, which also panics and ends its
// goroutine.
func TestF16Admit(t *testing.T) {
	t.Parallel()
	for want, admit := range map[string]func(e *engine.Engine) error{
		"want a call from outside": func(e *engine.Engine) error { return e.Close() },
		"engine: want a call":      func(e *engine.Engine) error { e.Written("x"); return nil },
		"no memory today":          func(*engine.Engine) error { panic("no memory today") },
		"the goroutine was ended":  func(*engine.Engine) error { runtime.Goexit(); return nil },
	} {
		var e *engine.Engine
		var r task.Registry
		if err := catalogue.Register(&r); err != nil {
			t.Fatal(err)
		}
		backend := cpu.New(cpu.Config{Workers: 2})
		admitted := false
		e = engine.New(&r, backend, engine.Config{Admit: func(string, int64) error {
			if admitted {
				return nil
			}
			return admit(e)
		}})
		g := graph.New(1)
		prog, err := graph.Inference(g, linear.Apply(g, linear.Defaults(2), g.Input("x", dtype.F32, 2, 2)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := planner.Build(prog, e.Options()...)
		if err != nil {
			t.Fatal(err)
		}
		if in, err := e.Load(p); err == nil || in != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s", err, want)
		}
		if used := e.Memory().Used; used != 0 {
			t.Errorf("%s: %d bytes are in use", want, used)
		}
		admitted = true
		if _, err := e.Load(p); err != nil {
			t.Errorf("%s: the engine cannot be used: %v", want, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestF17FetchBeforeRun fetches what was never computed, or not by the last run.
func TestF17FetchBeforeRun(t *testing.T) {
	t.Parallel()
	withHook(t, func(t *testing.T, f *fixture) {
		fetch := func(want string) {
			t.Helper()
			if got, err := opgen.Fetch[float32](f.p, f.y); (err == nil) != (want == "") || err != nil && (got != nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %d elements, %v; want %q", len(got), err, want)
			}
		}
		fetch("the plan has not run yet")
		f.hook = func(*op.Ctx, op.Range) error { return errors.New("no") }
		if f.run() == nil {
			t.Error("a run with an error succeeds")
		}
		fetch("the last run failed")
		f.hook = func(*op.Ctx, op.Range) error { return nil }
		if err := f.run(); err != nil {
			t.Error(err)
		}
		fetch("")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if f.p.Run(ctx, opgen.With(f.x, make([]float32, 2*rows))) == nil {
			t.Error("a canceled run succeeds")
		}
		fetch("the last run failed")
	})
}

// TestNil passes nil where something is wanted: an error, or a panic that says so where there is no error.
func TestNil(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 2)
		y := linear.Apply(g, linear.Defaults(2), x)
		p, err := s.Inference(ctx, g, y)
		if err != nil {
			return err
		}
		var none *opgen.Program
		var zero graph.Graph
		for name, call := range map[string]func() error{
			"context":          func() error { return p.Run(nil, opgen.With(x, make([]float32, 4))) }, //nolint:staticcheck // this is tested
			"program":          func() error { return none.Run(ctx) },
			"program, Fetch":   func() error { _, err := opgen.Fetch[float32](none, y); return err },
			"program, Shape":   func() error { _, err := none.Shape(y); return err },
			"program, Close":   none.Close,
			"program, Load":    func() error { _, err := s.Load(ctx, nil); return err },
			"program, Build":   func() error { _, err := planner.Build(nil); return err },
			"program, initial": func() error { _, err := graph.Initialization(nil); return err },
			"plan":             func() error { _, err := planner.Reschedule(nil); return err },
			"graph":            func() error { _, err := graph.Inference(nil, y); return err },
			"graph, training":  func() error { _, err := graph.Training(nil, y, nil); return err },
			"graph, whole":     func() error { _, err := graph.Whole(nil); return err },
			"zero graph":       func() error { return zero.Err() },
			"session":          func() error { return (*opgen.Session)(nil).Close() },
			"zero session":     func() error { return new(opgen.Session).Close() },
			"registry":         func() error { return catalogue.Register(nil) },
			"register":         func() error { _, err := opgen.Open(nil); return err },
			"instance":         func() error { return (*engine.Instance)(nil).Run(ctx) },
			"instance, feed":   func() error { return engine.Feed(nil, "x", []float32{1}) },
			"instance, fetch":  func() error { _, err := engine.Fetch[float32](nil, "x"); return err },
			"instance, close":  (*engine.Instance)(nil).Close,
			"engine":           (*engine.Engine)(nil).Close,
			"plan, Load": func() error {
				e := engine.New(nil, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
				_, err := e.Load(nil)
				return errors.Join(err, e.Close())
			},
		} {
			if err := call(); err == nil || !strings.Contains(err.Error(), "want ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		for want, call := range map[string]func(){
			"graph: want a graph that New has made": func() { (*graph.Graph)(nil).Input("x", dtype.F32) },
			"graph: want a graph":                   func() { linear.Apply(&zero, linear.Defaults(1), x) },
			"engine: New: want a backend":           func() { engine.New(nil, nil, engine.Config{}) },
		} {
			if got := panics(call); !strings.HasPrefix(got, want) {
				t.Errorf("got the panic %q, want %q", got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func panics(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// TestMatOverflow asks for matrices whose sizes overflow when they are multiplied.
func TestMatOverflow(t *testing.T) {
	t.Parallel()
	ro, wo, rw := tensortest.RO(make([]float32, 4), 4), tensortest.WO(make([]float32, 4), 4), tensortest.RW(make([]float32, 4), 4)
	for _, size := range [][3]int{{0, 1 << 32, 1 << 32}, {0, math.MaxInt, 2}, {0, -1, -4}, {0, -1, 0}, {4, 1, 1}, {5, 0, 0}, {-1, 1, 1}, {1, 2, 2}} {
		for _, call := range []func(){
			func() { ro.Mat(size[0], size[1], size[2]) },
			func() { wo.Mat(size[0], size[1], size[2]) },
			func() { rw.Mat(size[0], size[1], size[2]) },
			func() { rw.Out(size[0], size[1], size[2], 1) },
			func() { tensortest.Grad(1, make([]float32, 4), 4).Mat(size[0], size[1], size[2]) },
		} {
			if got := panics(call); got == "<nil>" {
				t.Errorf("a matrix of %d x %d at %d of 4 elements", size[1], size[2], size[0])
			}
		}
	}
	if m := ro.Mat(0, 2, 2); m.Rows() != 2 || ro.Mat(4, 0, 9).Cols() != 9 {
		t.Error("matrices that fit are refused")
	}
}

// TestBeyondMemory loads a program that needs more memory than any machine has, without a limit.
func TestBeyondMemory(t *testing.T) {
	t.Parallel()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 1<<40, 4)
		_, err := s.Inference(context.Background(), g, linear.Apply(g, linear.Defaults(2), x))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "out of memory: want") {
		t.Errorf("got %v, want an error", err)
	}
}

// TestShapesAreCopies changes the shapes that a program is given.
func TestShapesAreCopies(t *testing.T) {
	t.Parallel()
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, linear.Defaults(4), x)
	for _, v := range []graph.Tensor{x, y} {
		v.Shape()[0] = 100
		v.Operand().Shape[1] = 100
	}
	if fmt.Sprint(x, y) != "x f32[2, 3] linear.output f32[2, 4]" {
		t.Errorf("the shapes are %v and %v", x, y)
	}
}

// TestDropped drops sessions without closing them. The garbage collector ends their goroutines.
func TestDropped(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		s, err := opgen.Open(catalogue.Register, opgen.Workers(4))
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 2)
		p, err := s.Inference(context.Background(), g, linear.Apply(g, linear.Defaults(2), x))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(context.Background(), opgen.With(x, make([]float32, 4))); err != nil {
			t.Fatal(err)
		}
	}
	for range 500 {
		runtime.GC()
		if runtime.NumGoroutine() <= before+8 { // other tests run beside
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
}
