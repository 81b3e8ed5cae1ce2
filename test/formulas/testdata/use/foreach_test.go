package use

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	own "example.com/formulas/generated/catalogue"
	"example.com/formulas/generated/foreachadd"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/task"
)

// TestEach runs an operator whose outputs lie in the places of its inputs, tensor by tensor, on several
// executors, and as a call of slices.
func TestEach(t *testing.T) {
	t.Run("kit", func(t *testing.T) {
		optest.All(t, own.Register, slices.DeleteFunc(own.Operators(), func(o *graph.Operator) bool { return o != foreachadd.Operator }), optest.Register(catalogue.Register))
	})
	columns := []int{3, 1, 3}
	for name, opts := range map[string][]opgen.Option{
		"one worker": {opgen.Workers(1)}, "three workers": {opgen.Workers(3)}, "tiles": {opgen.Workers(2), opgen.Tiled()},
		"checked": {opgen.Backend(checked.New(cpu.Config{Workers: 1}))},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := opgen.Open(catalogue.Register, append(opts, opgen.Register(own.Register))...)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p, values, out, want := each(t, s, columns)
			if err := p.Run(t.Context(), values...); err != nil {
				t.Fatal(err)
			}
			for i, x := range out {
				got, err := opgen.Fetch[float32](p, x)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range got {
					if math.Abs(float64(v)-want[i][k]) > 1e-5 {
						t.Errorf("tensor %d: want %v, got %v", i, want[i], got)
						break
					}
				}
			}
			if name == "one worker" {
				changePairs(t, p)
			}
		})
	}
	s := open(t)
	x, y := [][]float32{{1, 2}, {3, 4}}, [][]float32{{10, 20}, {30, 40}}
	call := func(first, second []float32) (*opgen.Call, error) {
		on := opgen.On[foreachadd.Slot, float32]
		return opgen.NewCall(s, foreachadd.Operator, foreachadd.Defaults(), on(foreachadd.SlotTerm, x[0], 2), on(foreachadd.SlotTerm, x[1], 2),
			on(foreachadd.SlotOther, y[0], 2), on(foreachadd.SlotOther, y[1], 2), on(foreachadd.SlotSum, first, 2), on(foreachadd.SlotSum, second, 2))
	}
	if _, err := call(x[1], x[0]); err == nil {
		t.Error("want an error of memory that belongs to a term of another number, got nil")
	}
	c, err := call(x[0], x[1])
	if err == nil {
		err = c.Run()
	}
	if err != nil || !slices.Equal(x[0], []float32{11, 22}) || !slices.Equal(x[1], []float32{33, 44}) {
		t.Errorf("want 11 22 and 33 44 in the places of terms, got %v, %v", x, err)
	}
}

// each returns a program of sums that may lie in the places of others, with what it is fed and its results.
func each(t *testing.T, s *opgen.Session, columns []int) (p *opgen.Program, values []opgen.Value, out []graph.Tensor, want [][]float64) {
	g := graph.New(1)
	relu := elementunary.Defaults(elementunary.OpTypeRelu)
	var terms foreachadd.Term
	var others foreachadd.Other
	number := 0
	for _, c := range columns {
		x, y := g.Input(fmt.Sprint("term", number), dtype.F32, 2, c), g.Input(fmt.Sprint("other", number), dtype.F32, 2, c)
		terms, others = append(terms, elementunary.Apply(g, relu, x)), append(others, y)
		a, b, sum := make([]float32, 2*c), make([]float32, 2*c), make([]float64, 2*c)
		for k := range a {
			number++
			a[k], b[k] = float32(number%7)-3, float32(number%5)-2
			sum[k] = math.Max(math.Max(float64(a[k]), 0)+0.5*float64(b[k]), 0)
		}
		values, want = append(values, opgen.With(x, a), opgen.With(y, b)), append(want, sum)
	}
	for _, x := range foreachadd.Apply(g, foreachadd.Defaults().WithAlpha(0.5), terms, others) {
		out = append(out, elementunary.Apply(g, relu, x))
	}
	p, err := s.Inference(context.Background(), g, out...)
	if err != nil {
		t.Fatal(err)
	}
	return p, values, out, want
}

// changePairs changes what a plan says of tensors in place. Each change is found out.
func changePairs(t *testing.T, program *opgen.Program) {
	p := program.Plan()
	i := slices.IndexFunc(p.Calls, func(c plan.Call) bool { return len(c.InPlace) == 3 })
	if i < 0 {
		t.Fatalf("want a call with three tensors in place, got %v", p.Calls)
	}
	if err := errors.Join(verify.Plan(p), validate.Plan(p, program.Graph())); err != nil {
		t.Fatal(err)
	}
	pairs := p.Calls[i].InPlace
	for k := range pairs {
		if pairs[k].Tensor != k {
			t.Errorf("want pair %d to be of tensor %d, got %+v", k, k, pairs[k])
		}
		for what, change := range map[string]func(list []plan.Pair) []plan.Pair{
			"without the pair":    func(list []plan.Pair) []plan.Pair { return slices.Delete(list, k, k+1) },
			"of the next tensor":  func(list []plan.Pair) []plan.Pair { list[k].Tensor = (k + 1) % 3; return list },
			"of other parameters": func(list []plan.Pair) []plan.Pair { list[k].Of++; return list },
		} {
			q := *p
			q.Calls = slices.Clone(p.Calls)
			q.Calls[i].InPlace = change(slices.Clone(pairs))
			if err := verify.Plan(&q); err == nil {
				t.Errorf("pair %d %s: want an error of the verifier, got nil", k, what)
			}
		}
	}
	// The first sum lies where the last term lay, and the last one where the first term lay.
	crossed := *p
	crossed.Tasks = slices.Clone(p.Tasks)
	for k := range crossed.Tasks {
		if x := &crossed.Tasks[k]; x.Builtin == nil && x.Call == i {
			x.Access = slices.Clone(x.Access)
			x.Access[0], x.Access[2] = x.Access[2], x.Access[0]
		}
	}
	if err := verify.Plan(&crossed); err == nil || !strings.Contains(err.Error(), "accesses twice") {
		t.Errorf("crossed terms: want an error of what a task accesses twice, got %v", err)
	}
	// Two terms exchange their memory, so that each sum lies where another one's term lay. Engines refuse it.
	q := *p
	q.Calls = slices.Clone(p.Calls)
	c := &q.Calls[i]
	c.Params = slices.Clone(c.Params)
	c.Params[0] = slices.Clone(c.Params[0])
	c.Params[0][0], c.Params[0][2] = c.Params[0][2], c.Params[0][0]
	r := &task.Registry{}
	if err := errors.Join(catalogue.Register(r), own.Register(r)); err != nil {
		t.Fatal(err)
	}
	e := engine.New(r, cpu.New(cpu.Config{Workers: 1}), engine.Config{})
	defer e.Close()
	if _, err := e.Load(p); err != nil {
		t.Error(err)
	}
	if _, err := e.Load(&q); err == nil || !strings.Contains(err.Error(), "in place") {
		t.Errorf("exchanged terms: want an error of tensors in place, got %v", err)
	}
}
