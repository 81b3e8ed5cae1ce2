package opimpl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// anyAttrs are attributes that are always right, except for a message.
type anyAttrs struct{ wrong string }

func (a anyAttrs) Validate() error {
	if a.wrong != "" {
		return errors.New(a.wrong)
	}
	return nil
}

// The slots of the operator of these tests.
const (
	slotX = iota
	slotY
	slotExtra // optional
	slotMany  // variadic: 1 to 2
	slotPairs // variadic: exactly 2
	slotRest  // variadic: 0 or more
	slotOut
	slotAsked // on request
	numSlots
)

func operator(resolve func(*Resolver[int])) *task.Operator {
	op := &task.Operator{
		Name: "op",
		Slots: []task.Slot{
			slotX:     {Name: "x", Role: task.RoleInput, Type: "T", Shape: "[N, K]"},
			slotY:     {Name: "y", Role: task.RoleInput, Type: "T", Shape: "[N...]"},
			slotExtra: {Name: "extra", Role: task.RoleInput, Type: "i32", Shape: "[K]", Optional: true},
			slotMany:  {Name: "many", Role: task.RoleInput, Variadic: true, Min: 1, Max: 2},
			slotPairs: {Name: "pairs", Role: task.RoleInput, Variadic: true, Min: 2, Max: 2},
			slotRest:  {Name: "rest", Role: task.RoleInput, Variadic: true, Min: 0, Max: task.Unbounded},
			slotOut:   {Name: "out", Role: task.RoleOutput},
			slotAsked: {Name: "asked", Role: task.RoleOutput, OnRequest: true},
		},
		Types:   []task.TypeVar{{Name: "T", Types: []dtype.Type{dtype.F32, dtype.F64}}},
		Resolve: Resolve(func(r *Resolver[int], _ anyAttrs, _ *struct{}) { resolve(r) }),
	}
	op.Signatures = []*task.Signature{{Operator: op, Task: "forward", Kind: task.KindForward, Steps: []task.Step{{Name: "a"}, {Name: "b"}}}}
	return op
}

func f32(dims ...int) task.Operand { return task.Operand{Type: dtype.F32, Shape: dims} }

// given returns right operands for every slot.
func given(op *task.Operator) task.Given {
	g := task.NoneGiven(op)
	g.Operands[slotX] = []task.Operand{f32(2, 3)}
	g.Operands[slotY] = []task.Operand{f32(2, 5)}
	g.Operands[slotMany] = []task.Operand{f32(1)}
	g.Operands[slotPairs] = []task.Operand{f32(1), f32(2)}
	return g
}

func TestResolve(t *testing.T) {
	o := operator(func(r *Resolver[int]) {
		x, ok := r.Tensor(slotX).Rank(2)
		if !ok {
			t.Fatal("x has not 2 dimensions")
		}
		y, _ := r.Tensor(slotY).RankAtLeast(1)
		r.Tensor(slotY).Equal("N", x[0], y[0])
		r.Tensor(slotY).EqualDims("N", []int{2, 5}, y)
		T := r.BindType("T", slotX, slotExtra, slotY)
		r.FixedType(slotExtra, dtype.I32)
		r.Below(slotExtra, 7)
		if got := r.Tensor(slotX).Axis("dim", -1); got != 1 {
			t.Errorf("Axis(-1) = %d", got)
		}
		if got := r.Tensor(slotX).AxisEnd("end", 2); got != 2 {
			t.Errorf("AxisEnd(2) = %d", got)
		}
		if got := r.Tensor(slotX).Axes("dims", []int{-2, 1}); fmt.Sprint(got) != "[0 1]" {
			t.Errorf("Axes = %v", got)
		}
		if got := r.Slice(y, 1, 2); len(got) != 1 || got[0] != 5 {
			t.Errorf("Slice = %v", got)
		}
		if got := r.Index(y, 1); got != 5 {
			t.Errorf("Index = %v", got)
		}
		if got := r.Broadcast([]int{2, 1}, []int{3}); fmt.Sprint(got) != "[2 3]" {
			t.Errorf("Broadcast = %v", got)
		}
		r.Require(true, "never")
		r.Set(slotOut, T, 4, 0)
		if r.Requested(slotAsked) {
			r.Set(slotAsked, T)
		}
		r.Step(0, "a", 100)
		r.StepBy(0, "b", 3, 5)
		r.Cost(0, 1e7)
	})
	g := given(o)
	g.Requested[slotAsked] = 1
	r, err := task.Resolve(o, anyAttrs{}, g)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Operands(slotOut)[0].String(); got != "f32[4, 0]" {
		t.Errorf("out is %s", got)
	}
	if len(r.Operands(slotAsked)) != 1 || len(r.Operands(slotExtra)) != 0 || len(r.Operands(slotMany)) != 1 {
		t.Error("the wrong slots are present")
	}
	if r.Types[0] != dtype.F32 || len(r.Given().Operands) != numSlots {
		t.Errorf("types %v", r.Types)
	}
	if b, ok := r.Bound(slotExtra); b != (task.Bound{Below: 7}) || !ok {
		t.Errorf("Bound = %v, %v", b, ok)
	}
	if _, ok := r.Bound(slotX); ok {
		t.Error("x has a bound")
	}
	if got := r.Work(0, 0); !got.Equal(op.Line(100, 7)) {
		t.Errorf("the usual grain: %v", got)
	}
	if got := r.Work(0, 1); !got.Equal(op.Line(5, 3)) {
		t.Errorf("task.Work = %v", got)
	}
	if got := r.Cost(0); got != (task.Cost{Known: true, Flops: 1e7}) {
		t.Errorf("task.Cost = %v", got)
	}
}

func TestWork(t *testing.T) {
	flat := func(axes ...op.Axis) *op.Grid { return &op.Grid{Axis: axes[0], Inner: axes[1:]} }
	tests := []struct {
		over, grain int
		inner       []int
		want        *op.Grid
	}{
		{0, 0, nil, op.Line(0, 1)},
		{-3, 0, nil, op.Line(0, 1)},
		{1, 0, nil, op.Line(1, 1)},
		{16, 0, nil, op.Line(16, 1)},
		{17, 0, nil, op.Line(17, 2)},
		{5, -2, nil, op.Line(5, 1)},
		{5, 100, nil, op.Line(5, 100)},
		{5, 2, []int{40}, flat(op.Axis{Over: 5, Grain: 2}, op.Axis{Over: 40, Grain: 40})},
		{32, 0, []int{40}, flat(op.Axis{Over: 32, Grain: 2}, op.Axis{Over: 40, Grain: 40})},
		{2, 0, []int{3, 40}, flat(op.Axis{Over: 2, Grain: 1}, op.Axis{Over: 3, Grain: 1}, op.Axis{Over: 40, Grain: 40})},
		{1, 0, []int{64, 5}, flat(op.Axis{Over: 1, Grain: 1}, op.Axis{Over: 64, Grain: 4}, op.Axis{Over: 5, Grain: 5})},
		{1, 0, []int{0}, flat(op.Axis{Over: 1, Grain: 1}, op.Axis{Over: 0, Grain: 1})},
	}
	for _, tt := range tests {
		o := operator(func(r *Resolver[int]) {
			r.StepBy(0, "a", tt.grain, append([]int{tt.over}, tt.inner...)...)
			r.Cost(0, 1e7)
		})
		r, err := task.Resolve(o, anyAttrs{}, given(o))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Work(0, 0); !got.Equal(tt.want) {
			t.Errorf("StepBy(%d, %d, %v) = %v; want %v", tt.over, tt.grain, tt.inner, &got, tt.want)
		}
	}
}

// TestUsualRanges checks that tasks have as many ranges as follow from operations and elements, at most 16,
// unless their grains are given.
func TestUsualRanges(t *testing.T) {
	const taken = 20        // elements of what the caller gives
	const amount = 1 << 14  // of a range
	const operations = 16.0 // that count as much as an element
	for _, tt := range []struct {
		extent int
		flops  float64
		want   string
	}{
		{0, 0, "40 x 50 x 3 by 40 x 50 x 3, 40 by 7"},
		{2*amount - 1 - taken, 0, "40 x 50 x 3 by 40 x 50 x 3, 40 by 7"},
		{2*amount - taken, 0, "40 x 50 x 3 by 20 x 50 x 3, 40 by 7"},
		{100, operations * (2*amount - 101 - taken), "40 x 50 x 3 by 40 x 50 x 3, 40 by 7"},
		{100, operations * (2*amount - 100 - taken), "40 x 50 x 3 by 20 x 50 x 3, 40 by 7"},
		{15 * amount, 0, "40 x 50 x 3 by 3 x 50 x 3, 40 by 7"},
		{100 * amount, 1e12, "40 x 50 x 3 by 3 x 50 x 3, 40 by 7"},
	} {
		o := operator(func(r *Resolver[int]) {
			r.Set(slotOut, dtype.F32, tt.extent)
			r.Step(0, "a", 40, 50, 3)
			r.StepBy(0, "b", 7, 40)
			r.Cost(0, tt.flops)
		})
		r, err := task.Resolve(o, anyAttrs{}, given(o))
		if err != nil {
			t.Fatal(err)
		}
		a, b := r.Work(0, 0), r.Work(0, 1)
		if got := fmt.Sprintf("%v, %v", &a, &b); got != tt.want {
			t.Errorf("%d elements and %v operations: want %s, got %s", tt.extent, tt.flops, tt.want, got)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	nothing := func(*Resolver[int]) {}
	tests := []struct {
		name    string
		change  func(task.Given)
		resolve func(*Resolver[int])
		want    string
	}{
		{"missing", func(g task.Given) { g.Operands[slotX] = nil }, nothing, "operator op, slot x: want a tensor, got none"},
		{"too many", func(g task.Given) { g.Operands[slotX] = []task.Operand{f32(1), f32(2)} }, nothing, "operator op, slot x: want one tensor, got 2"},
		{"optional, too many", func(g task.Given) { g.Operands[slotExtra] = []task.Operand{f32(1), f32(2)} }, nothing, "operator op, slot extra: want one tensor, got 2"},
		{"none of 1 to 2", func(g task.Given) { g.Operands[slotMany] = nil }, nothing, "operator op, slot many: want 1 to 2 tensors, got 0"},
		{"three of 1 to 2", func(g task.Given) { g.Operands[slotMany] = make([]task.Operand, 3) }, nothing, "operator op, slot many: want 1 to 2 tensors, got 3"},
		{"one of 2", func(g task.Given) { g.Operands[slotPairs] = g.Operands[slotPairs][:1] }, nothing, "operator op, slot pairs: want 2 tensors, got 1"},
		{"first of several", func(g task.Given) { g.Operands[slotX], g.Operands[slotY] = nil, nil }, nothing, "operator op, slot x: want a tensor, got none"},
		{"rank", nil, func(r *Resolver[int]) { r.Tensor(slotX).Rank(3) }, "operator op, slot x: want 3 dimensions [N, K], got [2, 3]"},
		{"least rank", nil, func(r *Resolver[int]) { r.Tensor(slotY).RankAtLeast(3) }, "operator op, slot y: want at least 3 dimensions [N...], got [2, 5]"},
		{"extent", nil, func(r *Resolver[int]) { r.Tensor(slotX).Equal("N", 7, 2) }, "operator op, slot x: want N = 7 in [N, K], got 2 in [2, 3]"},
		{"extents", nil, func(r *Resolver[int]) { r.Tensor(slotY).EqualDims("N", []int{2}, []int{2, 5}) }, "operator op, slot y: want N... = [2] in [N...], got [2, 5]"},
		{"axis", nil, func(r *Resolver[int]) { r.Tensor(slotX).Axis("dim", 2) }, "operator op, slot x: want attribute dim between -2 and 1 for [2, 3], got 2"},
		{"axis below", nil, func(r *Resolver[int]) { r.Tensor(slotX).Axis("dim", -3) }, "operator op, slot x: want attribute dim between -2 and 1 for [2, 3], got -3"},
		{"end", nil, func(r *Resolver[int]) { r.Tensor(slotX).AxisEnd("end", 3) }, "operator op, slot x: want attribute end between -2 and 2 for [2, 3], got 3"},
		{"slice", nil, func(r *Resolver[int]) { r.Slice([]int{4, 5}, 2, 1) }, "operator op: want a slice of [4, 5], got [2:1]"},
		{"slice after the end", nil, func(r *Resolver[int]) { r.Slice([]int{4, 5}, 0, 3) }, "operator op: want a slice of [4, 5], got [0:3]"},
		{"index", nil, func(r *Resolver[int]) { r.Index([]int{4}, 1) }, "operator op: want a dimension of [4], got 1"},
		{"broadcast", nil, func(r *Resolver[int]) { r.Broadcast([]int{2, 3}, []int{2}) }, "operator op: want shapes that broadcast: equal extents, or 1, got [2, 3] and [2]"},
		{"keep", nil, func(r *Resolver[int]) { r.Keep([]int{2, 3}, []int{2}) }, "operator op: want different axes from 0 to 1 for [2, 3], got [2]"},
		{"drop", nil, func(r *Resolver[int]) { r.Drop([]int{2, 3}, []int{1, 1}) }, "operator op: want different axes from 0 to 1 for [2, 3], got [1, 1]"},
		{"ones", nil, func(r *Resolver[int]) { r.Ones([]int{2, 3}, []int{-1}) }, "operator op: want different axes from 0 to 1 for [2, 3], got [-1]"},
		{"insert", nil, func(r *Resolver[int]) { r.Insert([]int{2, 3}, []int{0, 4}) }, "operator op: want different axes from 0 to 3 for [2, 3], got [0, 4]"},
		{"permute", nil, func(r *Resolver[int]) { r.Permute([]int{2, 3}, []int{1}) }, "operator op: want every dimension of [2, 3] once, got [1]"},
		{"permute twice", nil, func(r *Resolver[int]) { r.Permute([]int{2, 3}, []int{1, 1}) }, "operator op: want different axes from 0 to 1 for [2, 3], got [1, 1]"},
		{"type", func(g task.Given) { g.Operands[slotX][0].Type = dtype.I8 }, func(r *Resolver[int]) { r.BindType("T", slotX, slotY) }, "operator op, slot x: want element type T in f32, f64, got i8"},
		{"two types", func(g task.Given) { g.Operands[slotY][0].Type = dtype.F64 }, func(r *Resolver[int]) { r.BindType("T", slotX, slotY) }, "operator op, slot y: want element type T = f32, got f64"},
		{"fixed type", nil, func(r *Resolver[int]) { r.FixedType(slotX, dtype.I32) }, "operator op, slot x: want element type i32, got f32"},
		{"condition", nil, func(r *Resolver[int]) { r.Require(false, "%d is not %d", 1, 2) }, "operator op: 1 is not 2"},
		{"negative extent", nil, func(r *Resolver[int]) { r.Set(slotOut, dtype.F32, 2, -1) }, "operator op, slot out: want extents of 0 or more, got [2, -1]"},
		{"huge", nil, func(r *Resolver[int]) { r.Set(slotOut, dtype.F32, 1<<30, 1<<30) }, "operator op, slot out: want a size that can be addressed, got f32[1073741824, 1073741824]"},
		{"only the first", nil, func(r *Resolver[int]) {
			r.Require(false, "first")
			r.Require(false, "second")
			r.Tensor(slotX).Rank(3)
		}, "operator op: first"},
	}
	for _, tt := range tests {
		o := operator(tt.resolve)
		g := given(o)
		if tt.change != nil {
			tt.change(g)
		}
		r, err := task.Resolve(o, anyAttrs{}, g)
		var e *op.Error
		if !errors.As(err, &e) || err.Error() != tt.want || r != nil {
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
	}
	o := operator(func(*Resolver[int]) { t.Error("Resolve goes on after wrong attributes") })
	if _, err := task.Resolve(o, anyAttrs{"bad attributes"}, given(o)); err == nil || err.Error() != "bad attributes" {
		t.Errorf("wrong attributes: %v", err)
	}
	// After an error, what functions return can be used without a panic.
	o = operator(func(r *Resolver[int]) {
		r.Require(false, "first")
		if _, ok := r.Tensor(slotX).Rank(2); ok {
			t.Error("Rank goes on after an error")
		}
		if r.Tensor(slotX).Axis("dim", 1) != 0 || r.BindType("T", slotX) != dtype.Invalid {
			t.Error("a function goes on after an error")
		}
	})
	if _, err := task.Resolve(o, anyAttrs{}, given(o)); err == nil {
		t.Error("no error")
	}
}

// TestTypeFrom binds a dtype variable that no input binds.
func TestTypeFrom(t *testing.T) {
	const prefix = "operator op: want "
	for _, c := range []struct {
		bound, candidates []dtype.Type
		want              dtype.Type
		err               string
	}{
		{nil, []dtype.Type{dtype.F64}, dtype.F64, ""},
		{nil, []dtype.Type{TypeIf(false, dtype.I32), TypeIf(true, dtype.F32), dtype.I32}, dtype.F32, ""},
		{[]dtype.Type{dtype.F32}, []dtype.Type{dtype.I32}, dtype.F32, ""},
		{nil, []dtype.Type{dtype.I32, dtype.F32}, 0, prefix + "element type T in f32, f64, got i32"},
		{nil, []dtype.Type{dtype.Invalid}, 0, prefix + "an input or an attribute that says the element type T, got none"},
	} {
		o := operator(func(r *Resolver[int]) {
			copy(r.res.Types, c.bound)
			if got := r.TypeFrom("T", c.candidates...); got != c.want {
				t.Errorf("%v, %v: got %v, want %v", c.bound, c.candidates, got, c.want)
			}
		})
		if _, err := task.Resolve(o, anyAttrs{}, given(o)); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v, %v: got %v, want %s", c.bound, c.candidates, err, c.err)
		}
	}
}

// TestVariadic looks at the tensors of variadic slots one by one.
func TestVariadic(t *testing.T) {
	o := operator(func(r *Resolver[int]) {
		for i, p := range r.Each(slotPairs) {
			if x, ok := p.Rank(1); !ok || x[0] != i+1 {
				t.Errorf("tensor %d is %v", i, x)
			}
		}
		for range r.Each(slotRest) {
			t.Error("there is a tensor in an empty slot")
		}
		runs := [][]int{{3}, {}}
		for i := range r.Count(slotMade, len(runs)) {
			r.Set(slotMade, dtype.F32, r.Run(runs, i)...)
		}
	})
	o.Slots = append(o.Slots, task.Slot{Name: "made", Role: task.RoleOutput, Variadic: true, Max: task.Unbounded})
	r, err := task.Resolve(o, anyAttrs{}, given(o))
	if err != nil || fmt.Sprint(r.Operands(slotMade)) != "[f32[3] f32[]]" {
		t.Errorf("made is %v, %v", r.Operands(slotMade), err)
	}
}

// slotMade is a variadic output that TestVariadic and TestVariadicErrors add.
const slotMade = numSlots

func TestVariadicErrors(t *testing.T) {
	for _, c := range []struct {
		resolve func(r *Resolver[int])
		want    string
	}{
		{func(r *Resolver[int]) {
			for i, p := range r.Each(slotPairs) {
				p.Equal("N", 1, i+1)
			}
		}, "slot pairs[1]: want N = 1 in , got 2 in [2]"},
		{func(r *Resolver[int]) { r.Count(slotMade, -2) }, "slot made: want 0 to 65536 tensors, got -2"},
		{func(r *Resolver[int]) { r.Count(slotMade, maxTensors+1) }, "slot made: want 0 to 65536 tensors, got 65537"},
		{func(r *Resolver[int]) { r.Run([][]int{{1}}, 1) }, "operator op: want a tensor's number below 1, got 1"},
		{func(r *Resolver[int]) { r.Run([][]int{{1}}, -1) }, "operator op: want a tensor's number below 1, got -1"},
		{func(r *Resolver[int]) { r.Set(slotMade, dtype.F32); r.Set(slotMade, dtype.F32, -1) }, "slot made[1]: want extents of 0 or more, got [-1]"},
		{func(r *Resolver[int]) { r.FixedType(slotPairs, dtype.I32) }, "slot pairs[0]: want element type i32, got f32"},
		{func(r *Resolver[int]) { r.Tensor(slotMany).Axis("axis", 1) }, "slot many[0]: want attribute axis between -1 and 0 for [1], got 1"},
	} {
		o := operator(c.resolve)
		o.Slots = append(o.Slots, task.Slot{Name: "made", Role: task.RoleOutput, Variadic: true, Max: task.Unbounded})
		if _, err := task.Resolve(o, anyAttrs{}, given(o)); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// TestDivisible lists where tensors may be divided among devices.
func TestDivisible(t *testing.T) {
	o := operator(func(r *Resolver[int]) {
		r.Divide("N", slotX, 0, 1)
		r.Divide("N", slotExtra, 0, 1) // is absent
		r.Divide("K", slotX, 1, 1)     // is a run of no dimensions
		r.Divide("K", slotY, 0, 2)
	})
	o.Shards = []task.Shard{{Dim: "N"}, {Dim: "K", Partial: true}, {Dim: "M"}}
	r, err := task.Resolve(o, anyAttrs{}, given(o))
	if got := fmt.Sprint(r.Shards); err != nil || got != "[[{0 0 1}] [{1 0 2}] []]" {
		t.Errorf("divisible are %s, %v", got, err)
	}
}

// TestShares resolves tasks that loops compute: element by element where the tensors that they write have one
// size, or else in shares of the largest tensor of the operator.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		elementwise bool
		out, asked  int // elements of the tensors that the task writes
		want        string
		shares      bool
	}{
		{false, 200_000, 10, "200000 by 16667", true},
		{false, 1, 1, "10 by 10", true}, // an input has 10 elements
		{false, 0, 0, "0 by 1", true},
		{true, 200_000, 200_000, "200000 by 12500", false},
		{true, 200_000, 10, "200000 by 16667", true},
		{true, 100, 100, "100 by 100", false},
		{true, 0, 0, "0 by 1", false},
	} {
		o := operator(func(r *Resolver[int]) {
			r.Set(slotOut, dtype.F32, tt.out)
			r.Set(slotAsked, dtype.F32, tt.asked)
			if tt.elementwise {
				r.Elements(0)
			} else {
				r.Shares(0)
			}
		})
		s := o.Signatures[0]
		s.Operator, s.Steps = o, []task.Step{{Elementwise: tt.elementwise}}
		s.Params = []task.Param{{Slot: slotX, Perm: perm.Read}, {Slot: slotOut, Perm: perm.Write}, {Slot: slotAsked, Perm: perm.Write}}
		r, err := task.Resolve(o, anyAttrs{}, given(o))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Work(0, 0); fmt.Sprint(&got) != tt.want || r.Shares[0] != tt.shares || r.Elementwise(s, 0) != (tt.elementwise && !tt.shares) {
			t.Errorf("elementwise %v, %d and %d elements: want %s, shares %v, got %v, %v", tt.elementwise, tt.out, tt.asked, tt.want, tt.shares, &got, r.Shares[0])
		}
	}
}
