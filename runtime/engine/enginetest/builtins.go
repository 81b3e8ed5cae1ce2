package enginetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// testBuiltins runs the operations that every engine implements, cut into several ranges.
func (s *suite) testBuiltins(t *testing.T) {
	const n = 40000 // more than two ranges
	e := s.engine(t, s.registry(t, increment), 3, engine.Config{})
	p := &plan.Plan{Format: plan.Format, Name: "builtins", Target: s.target.Name}
	add := func(name string, typ dtype.Type, use plan.Use, last int) region.Access {
		bytes := int64(n * typ.Size())
		p.Roots = append(p.Roots, plan.Root{Name: name, Type: typ, Shape: []int{n}, Use: use, Place: region.Place{Off: p.ArenaBytes, Bytes: bytes}, First: 0, Last: last})
		p.ArenaBytes += bytes
		return region.Access{Region: region.Whole(region.Root(len(p.Roots)-1), []int{n})}
	}
	for _, typ := range []dtype.Type{dtype.F32, dtype.F64} {
		a, b := add("a "+typ.String(), typ, plan.Fetched, 6), add("b "+typ.String(), typ, plan.Fetched, 6)
		write, change, read := a, a, b
		write.Perm, change.Perm, b.Perm, read.Perm = perm.Write, perm.ReadWrite, perm.Write, perm.Read
		p.Tasks = append(p.Tasks,
			plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "fill", Value: 1.5}, Over: n, Grain: 16384, Access: []region.Access{write}},
			plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "fill", Value: -4}, Over: n, Grain: 16384, Access: []region.Access{b}},
			plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "add"}, Over: n, Grain: 16384, Access: []region.Access{change, read}})
	}
	in, err := e.Load(s.schedule(t, p))
	if err != nil {
		t.Fatal(err)
	}
	run(t, in)
	if a, b := fetch[float32](t, in, "a f32"), fetch[float32](t, in, "b f32"); slices.Min(a) != -2.5 || slices.Max(a) != -2.5 || slices.Min(b) != -4 || slices.Max(b) != -4 {
		t.Errorf("f32: a from %v to %v, b from %v to %v", slices.Min(a), slices.Max(a), slices.Min(b), slices.Max(b))
	}
	if a, b := fetch[float64](t, in, "a f64"), fetch[float64](t, in, "b f64"); slices.Min(a) != -2.5 || slices.Max(a) != -2.5 || slices.Min(b) != -4 || slices.Max(b) != -4 {
		t.Errorf("f64: a from %v to %v, b from %v to %v", slices.Min(a), slices.Max(a), slices.Min(b), slices.Max(b))
	}
}

// testBuiltinTypes runs every operation for every type that it must be there for. Sums and conversions of
// types of 16 bits are computed in float32 and rounded to the nearest number.
func (s *suite) testBuiltinTypes(t *testing.T) {
	for _, tt := range []struct {
		op       plan.Builtin
		to, from dtype.Type
		init     float64 // of to
		with     float64 // of from
		want     float64
	}{
		{plan.Builtin{Op: "fill", Value: 0.5}, dtype.F16, 0, 0, 0, 0.5},
		{plan.Builtin{Op: "fill", Value: 3}, dtype.BF16, 0, 0, 0, 3},
		{plan.Builtin{Op: "identity", Redop: perm.Min}, dtype.F32, 0, 0, 0, math.Inf(1)},
		{plan.Builtin{Op: "identity", Redop: perm.Max}, dtype.F64, 0, 0, 0, math.Inf(-1)},
		{plan.Builtin{Op: "identity", Redop: perm.Prod}, dtype.I32, 0, 0, 0, 1},
		{plan.Builtin{Op: "identity", Redop: perm.Min}, dtype.I32, 0, 0, 0, math.MaxInt32},
		{plan.Builtin{Op: "identity", Redop: perm.Sum}, dtype.I64, 0, 0, 0, 0},
		{plan.Builtin{Op: "identity", Redop: "example.com/nn/folds.Farther, -2.5"}, dtype.F32, 0, 0, 0, -2.5},
		{plan.Builtin{Op: "identity", Redop: "example.com/nn/folds.Farther, -inf"}, dtype.BF16, 0, 0, 0, math.Inf(-1)},
		{plan.Builtin{Op: "identity", Redop: "example.com/nn/folds.Farther, inf"}, dtype.I32, 0, 0, 0, math.MaxInt32},
		{plan.Builtin{Op: "identity", Redop: "example.com/nn/folds.Either, 1"}, dtype.Bool, 0, 0, 0, 1},
		{plan.Builtin{Op: "add"}, dtype.F32, dtype.F32, 1, 0x1p-24, 1},
		{plan.Builtin{Op: "add"}, dtype.F64, dtype.F64, 1, 0x1p-24, 1 + 0x1p-24},
		{plan.Builtin{Op: "add"}, dtype.F16, dtype.F16, 2048, 3, 2052},
		{plan.Builtin{Op: "add"}, dtype.F16, dtype.F32, 1, 0x1p-11 + 0x1p-30, 1}, // rounded twice
		{plan.Builtin{Op: "add"}, dtype.BF16, dtype.BF16, 256, 3, 260},
		{plan.Builtin{Op: "convert"}, dtype.F16, dtype.F32, 0, 1 + 0x1p-11, 1},
		{plan.Builtin{Op: "convert"}, dtype.BF16, dtype.F32, 0, 257, 256},
		{plan.Builtin{Op: "convert"}, dtype.F32, dtype.F16, 0, 1.5, 1.5},
		{plan.Builtin{Op: "convert"}, dtype.F32, dtype.BF16, 0, -1.5, -1.5},
		{plan.Builtin{Op: "copy"}, dtype.F32, dtype.F32, 0, -1.5, -1.5},
		{plan.Builtin{Op: "copy"}, dtype.I32, dtype.I32, 0, -7, -7},
		{plan.Builtin{Op: "copy"}, dtype.BF16, dtype.BF16, 0, 3, 3},
		{plan.Builtin{Op: "all_reduce", Redop: perm.Sum}, dtype.F32, dtype.F32, 1, 0x1p-24, 1},
		{plan.Builtin{Op: "all_reduce", Redop: perm.Sum}, dtype.F64, dtype.F64, 1, 0x1p-24, 1 + 0x1p-24},
		{plan.Builtin{Op: "all_reduce", Redop: perm.Sum}, dtype.F16, dtype.F16, 2048, 3, 2052},
		{plan.Builtin{Op: "all_reduce", Redop: perm.Sum}, dtype.BF16, dtype.BF16, 256, 3, 260},
	} {
		what := fmt.Sprintf("%s %v %v", tt.op.Op, tt.to, tt.from)
		const n = 5
		p := &plan.Plan{Format: plan.Format, Name: "builtin", Target: s.target.Name}
		x := plan.Task{Call: -1, Builtin: &tt.op, Over: n, Grain: 2}
		for i, typ := range []dtype.Type{tt.to, tt.from} {
			if typ == dtype.Invalid {
				continue
			}
			root := plan.Root{Name: []string{"to", "from"}[i], Type: typ, Shape: []int{n}, Use: plan.Variable,
				Place: region.Place{Space: region.Variable, Bytes: int64(n * typ.Size())}}
			p.Roots = append(p.Roots, root)
			access := region.Access{Region: region.Whole(region.Root(i), []int{n}), Perm: perm.Read}
			switch {
			case tt.op.Op == "all_reduce", i == 0 && tt.op.Op == "add":
				access.Perm = perm.ReadWrite
			case i == 0:
				access.Perm = perm.Write
			}
			x.Access = append(x.Access, access)
		}
		p.Tasks = []plan.Task{x}
		e := s.engine(t, s.catalogue(t), 2, engine.Config{})
		in, err := e.Load(s.schedule(t, p))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for i, r := range p.Roots {
			data := make([]byte, r.Place.Bytes)
			for k := range n {
				r.Type.PutFloat64(data[k*r.Type.Size():], []float64{tt.init, tt.with}[i])
			}
			if err := in.FeedBytes(r.Name, data); err != nil {
				t.Fatal(err)
			}
		}
		run(t, in)
		data, err := in.FetchBytes("to")
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			if got := tt.to.Float64(data[k*tt.to.Size():]); got != tt.want {
				t.Errorf("%s: element %d is %v, want %v", what, k, got, tt.want)
			}
		}
	}
}
