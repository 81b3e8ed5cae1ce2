package cpu_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/reverse"
	"github.com/opgen/opgen/generated/segmentsum"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

var (
	planMutants = flag.Int("plan-mutants", 300, "number of mutants of plans that TestF5Mutants judges")
	planSeed    = flag.Uint64("plan-seed", 1, "seed of the mutants of plans")
)

// subject is a program with a plan.
type subject struct {
	prog *graph.Program
	plan *plan.Plan
	data []byte
	want []byte // results
}

// registry returns all operators of the catalogue.
func registry(t testing.TB) *task.Registry {
	t.Helper()
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// training returns the training step of a small network.
func training(t testing.TB, typ dtype.Type) *graph.Program {
	t.Helper()
	g := graph.New(1)
	pool := pool2d.Defaults(2, 2)
	x := pool2d.Apply(g, pool, g.Input("x", typ, 2, 1, 4, 4))
	x = flat.Apply(g, flat.Defaults().WithStartDim(1), x)
	x = elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), linear.Apply(g, linear.Defaults(5), x))
	x = dropout.Apply(g, dropout.Defaults(0.25), x)
	x = reverse.Apply(g, reverse.Defaults(1), elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeExp), x))
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, linear.Defaults(3), x)), scce.Label(g.Input("label", dtype.I32, 2, 1)))
	prog, err := graph.Training(g, loss, adam.Optimizer(adam.Defaults()), x)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// folding returns a program with a task that folds values into a tensor.
func folding(t testing.TB) *graph.Program {
	t.Helper()
	g := graph.New(1)
	x := elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeExp), g.Input("x", dtype.F32, 6, 3))
	y := segmentsum.Apply(g, segmentsum.Defaults(3), segmentsum.Data(x), segmentsum.Segment(g.Input("label", dtype.I32, 6)))
	prog, err := graph.Inference(g, elementunary.Apply(g, elementunary.Defaults(elementunary.OpTypeTanh), y))
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// subjects returns plans of several kinds, with their results.
func subjects(t testing.TB, reg *task.Registry) []subject {
	t.Helper()
	var out []subject
	add := func(prog *graph.Program, opts ...planner.Option) {
		p, err := planner.Build(prog, opts...)
		if err != nil {
			t.Fatal(err)
		}
		times := make([]float64, len(p.Tasks))
		for i := range times {
			times[i] = 1e5
		}
		if p, err = planner.Reschedule(p, planner.Workers(2), planner.Times(times)); err != nil {
			t.Fatal(err)
		}
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		want, err := outcome(reg, prog, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, subject{prog, p, data, want})
	}
	add(training(t, dtype.F32))
	add(training(t, dtype.F16))
	add(training(t, dtype.F32), planner.Tiled())
	add(training(t, dtype.F32), planner.Plain())
	add(folding(t))
	return out
}

// outcome loads a plan and returns what the caller can see of two runs.
func outcome(reg *task.Registry, prog *graph.Program, p *plan.Plan) (out []byte, err error) {
	e := engine.New(reg, cpu.New(cpu.Config{Workers: 2}), engine.Config{MemoryLimit: 64 << 20})
	defer e.Close()
	in, err := e.Load(p)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	feed := func(t graph.Tensor) error {
		n := 1
		for _, d := range t.Shape() {
			n *= d
		}
		data := make([]byte, n*t.Type().Size())
		for i := range n {
			v := float64(i%3) * 0.25
			if !t.Type().IsFloat() {
				v = float64(i % 3)
			}
			t.Type().PutFloat64(data[i*t.Type().Size():], v)
		}
		return in.FeedBytes(t.Name(), data)
	}
	for _, v := range prog.Variables {
		if err := feed(v); err != nil {
			return nil, fmt.Errorf("feed: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range 2 {
		for _, t := range prog.Fed {
			if err := feed(t); err != nil {
				return nil, fmt.Errorf("feed: %w", err)
			}
		}
		if err := in.Run(ctx); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		for _, t := range slices.Concat(prog.Fetched, prog.Variables) {
			data, err := in.FetchBytes(t.Name())
			if err != nil {
				return nil, fmt.Errorf("fetch: %w", err)
			}
			out = append(out, data...)
		}
	}
	return out, nil
}

// judge returns at which stage a plan is refused, or "same" or "other" if it runs.
func judge(reg *task.Registry, s *subject, data []byte) string {
	p, err := plan.Decode(data)
	if err != nil {
		return "decode"
	}
	valid := validate.Plan(p, s.prog)
	verified := verify.Plan(p)
	got, err := outcome(reg, s.prog, p) // even if it is refused, loading must not panic
	switch {
	case valid != nil:
		return "validate"
	case verified != nil:
		return "verify"
	case err != nil:
		stage, _, _ := bytes.Cut([]byte(err.Error()), []byte(":"))
		return string(stage)
	case bytes.Equal(got, s.want):
		return "same"
	}
	return "other"
}

// site is a value of a tree of JSON, and what replaces it.
type site struct {
	value any
	set   func(any)
}

// sites lists the values of a tree.
func sites(v any, set func(any), out []site) []site {
	out = append(out, site{v, set})
	switch v := v.(type) {
	case []any:
		for i := range v {
			out = sites(v[i], func(x any) { v[i] = x }, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = sites(v[k], func(x any) { v[k] = x }, out)
		}
	}
	return out
}

// mutate changes a number, a string, an element or a list of a plan in JSON.
func mutate(t testing.TB, data []byte, r *rand.Rand) []byte {
	t.Helper()
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	all := sites(tree, func(x any) { tree = x }, nil)
	x := &all[1+r.IntN(len(all)-1)]
	copied, err := json.Marshal(all[r.IntN(len(all))].value) // a copy, since the value may hold the place
	if err != nil {
		t.Fatal(err)
	}
	other := json.RawMessage(copied)
	switch v := x.value.(type) {
	case json.Number:
		n, _ := v.Int64()
		values := []int64{-1, 0, 1, 2, n - 1, n + 1, 2 * n, n / 2, n + 64, n - 64, 99, 1 << 31, 1 << 40, 1<<63 - 1, -1 << 63}
		x.set(values[r.IntN(len(values))])
	case bool:
		x.set(!v)
	case string:
		values := []any{"", v + "x", other, "read", "write", "readwrite", "fill", "copy"}
		x.set(values[r.IntN(len(values))])
	case []any:
		x.set(mutateList(v, other, r))
	case map[string]any:
		x.set(mutateObject(v, other, r))
	default:
		x.set(other)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mutateList removes, doubles, swaps or adds elements, or returns another value.
func mutateList(v []any, other json.RawMessage, r *rand.Rand) any {
	if len(v) == 0 {
		return []any{other}
	}
	i, j := r.IntN(len(v)), r.IntN(len(v))
	v = slices.Clone(v)
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return slices.Delete(v, i, i+1)
	case 2:
		return slices.Insert(v, j, v[i])
	case 3:
		v[i], v[j] = v[j], v[i]
		return v
	case 4:
		v[i] = v[j]
		return v
	}
	return append(v, other)
}

// mutateObject removes a field, or returns nothing or another value.
func mutateObject(v map[string]any, other json.RawMessage, r *rand.Rand) any {
	keys := slices.Sorted(maps.Keys(v))
	switch n := r.IntN(len(keys) + 2); {
	case n < len(keys):
		v = maps.Clone(v)
		delete(v, keys[n])
		return v
	case n == len(keys):
		return nil
	}
	return other
}

// TestF5Mutants changes plans in JSON in one place at random. Each mutant is refused or computes the same,
// and nothing panics.
func TestF5Mutants(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	all := subjects(t, reg)
	count := map[string]int{}
	n := *planMutants
	if testing.Short() {
		n /= 6
	}
	for seed := *planSeed; seed < *planSeed+uint64(n); seed++ {
		r := rand.New(rand.NewPCG(seed, 5))
		s := &all[r.IntN(len(all))]
		data := mutate(t, s.data, r)
		got := judge(reg, s, data)
		count[got]++
		if got == "other" || got == "run" || got == "fetch" || got == "feed" {
			t.Errorf("seed %d: %s: %s", seed, got, difference(s.data, data))
		}
	}
	t.Logf("%d mutants: %v", n, count)
}

// difference shows where two plans differ.
func difference(a, b []byte) string {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return ""
	}
	return differ("", x, y)
}

func differ(path string, x, y any) string {
	switch x := x.(type) {
	case map[string]any:
		if y, ok := y.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(x)) {
				if s := differ(path+"."+k, x[k], y[k]); s != "" {
					return s
				}
			}
			return ""
		}
	case []any:
		if y, ok := y.([]any); ok && len(x) == len(y) {
			for i := range x {
				if s := differ(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); s != "" {
					return s
				}
			}
			return ""
		}
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	if bytes.Equal(p, q) {
		return ""
	}
	return fmt.Sprintf("%s: %.200s became %.200s", path, p, q)
}
