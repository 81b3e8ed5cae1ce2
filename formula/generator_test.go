package formula_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// TestGeneratorUses compares the program.Use that the generator makes of every example with the one that the
// runtime makes, for every choice of element types and of outputs on request.
func TestGeneratorUses(t *testing.T) {
	uses, refused := 0, 0
	forEachExample(t, func(o *model.Operator, r *task.Operator, i int) {
		for _, c := range example.Choices(o) {
			name := fmt.Sprintf("%s, example %d, types %s, request %v", o.Name, i, dtype.Format(c.Types), c.Request)
			if agree(t, name, o, r, &r.Examples[i], c) {
				uses++
			} else {
				refused++
			}
		}
	})
	if uses < 500 || refused == 0 {
		t.Errorf("%d uses were compared, and %d refused", uses, refused)
	}
}

// TestGeneratorRefusals is TestGeneratorUses for examples with shapes that are changed at random.
func TestGeneratorRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	uses, refused := 0, 0
	forEachExample(t, func(o *model.Operator, r *task.Operator, i int) {
		if o.Name == "einsum" {
			return // a Go function gives its shapes, and the generator runs none
		}
		for range 30 {
			x := changed(&r.Examples[i], rng)
			if agree(t, fmt.Sprintf("%s with %s, shapes %v", o.Name, x.Attrs, x.Shapes), o, r, x, example.Choices(o)[0]) {
				uses++
			} else {
				refused++
			}
		}
	})
	if uses < 500 || refused < 500 {
		t.Errorf("%d uses were compared, and %d refused", uses, refused)
	}
}

// forEachExample calls f with every operator, as the generator and the runtime represent it, and with the
// number of each of its examples.
func forEachExample(t *testing.T, f func(o *model.Operator, r *task.Operator, i int)) {
	t.Helper()
	p, err := driver.Load("..")
	if err != nil || p.Module() == nil {
		t.Fatal(err, p.Findings.Sorted())
	}
	for i, r := range catalogue.Operators() {
		o := p.Module().Operators[i]
		if o.Name != r.Name || !reflect.DeepEqual(o.Examples, r.Examples) {
			t.Fatalf("the catalogue has the operator %s where specs have %s, or other examples", r.Name, o.Name)
		}
		for k := range r.Examples {
			f(o, &r.Operator, k)
		}
	}
}

// agree reports whether the generator accepts an example. It is a test error if the runtime does not agree,
// or makes another use of the example.
func agree(t *testing.T, name string, o *model.Operator, r *task.Operator, x *task.Example, c example.Choice) bool {
	t.Helper()
	got, gotErr := example.Use(o, x, c)
	want, wantErr := runtimeUse(r, x, c)
	switch {
	case (gotErr == nil) != (wantErr == nil):
		t.Errorf("%s: the generator says %v, the runtime says %v", name, gotErr, wantErr)
	case gotErr == nil:
		compareUses(t, name, got, want)
	}
	return gotErr == nil
}

// changed returns an example with random changes: other extents, or other numbers of dimensions. It changes
// an extent in all shapes, so that some examples stay valid.
func changed(x *task.Example, rng *rand.Rand) *task.Example {
	out := &task.Example{Attrs: x.Attrs, Counts: x.Counts, Args: x.Args, Shapes: map[string][]int{}}
	from, to := 1+rng.IntN(5), rng.IntN(6)
	for _, name := range slices.Sorted(maps.Keys(x.Shapes)) {
		dims := slices.Clone(x.Shapes[name])
		for d := range dims {
			if dims[d] == from {
				dims[d] = to
			}
		}
		switch rng.IntN(8) {
		case 0:
			dims = slices.Insert(dims, rng.IntN(len(dims)+1), rng.IntN(3))
		case 1:
			dims = dims[:max(len(dims)-1, 0)]
		case 2:
			continue
		}
		out.Shapes[name] = dims
	}
	return out
}

// runtimeUse returns the use that the runtime makes of an example.
func runtimeUse(o *task.Operator, x *task.Example, c example.Choice) (*program.Use, error) {
	attrs, err := o.DecodeAttrs([]byte(x.Attrs))
	if err != nil {
		return nil, err
	}
	given := task.NoneGiven(o)
	for i := range o.Slots {
		given.Operands[i] = operands(o, i, x, c)
		given.Requested[i] = x.Counts[o.Slots[i].Name]
		if o.Slots[i].OnRequest && !o.Slots[i].Asked() && c.Request {
			given.Requested[i] = 1
		}
	}
	passed, err := x.Passed(o)
	if err != nil {
		return nil, err
	}
	given.Pass(passed)
	r, err := task.Resolve(o, attrs, given)
	if err != nil {
		return nil, err
	}
	return formula.UseOf(o, attrs, r, 7, task.NewPassed(passed)) // the seed that examples have
}

// operands returns the tensors of a slot in an example.
func operands(o *task.Operator, slot int, x *task.Example, c example.Choice) []task.Operand {
	s := &o.Slots[slot]
	typ, err := dtype.Parse(s.Type)
	if v := slices.IndexFunc(o.Types, func(v task.TypeVar) bool { return v.Name == s.Type }); err != nil && v >= 0 {
		typ = c.Types[v]
	}
	if dims, ok := x.Shapes[s.Name]; ok {
		return []task.Operand{{Type: typ, Shape: dims}}
	}
	var out []task.Operand
	for {
		dims, ok := x.Shapes[fmt.Sprintf("%s.%d", s.Name, len(out))]
		if !ok {
			return out
		}
		out = append(out, task.Operand{Type: typ, Shape: dims})
	}
}

// compareUses compares two uses. An empty list and nil are equal.
func compareUses(t *testing.T, name string, got, want *program.Use) {
	t.Helper()
	if got.Operator != want.Operator || !slices.Equal(got.Formula, want.Formula) {
		t.Errorf("%s: got the formula %v of %s, want %v of %s", name, got.Formula, got.Operator, want.Formula, want.Operator)
	}
	if !reflect.DeepEqual(got.Types, want.Types) {
		t.Errorf("%s: got the types %v, want %v", name, got.Types, want.Types)
	}
	compareValues(t, name+", attributes", got.Attrs, want.Attrs)
	compareValues(t, name+", dimensions", got.Dims, want.Dims)
	if !slices.EqualFunc(got.Passed, want.Passed, func(a, b program.Passed) bool {
		return a.Name == b.Name && a.Slot == b.Slot && a.Type == b.Type && a.Variadic == b.Variadic && slices.Equal(a.Values, b.Values)
	}) {
		t.Errorf("%s: the caller passes %v, want %v", name, got.Passed, want.Passed)
	}
	if len(got.Slots) != len(want.Slots) {
		t.Errorf("%s: got %d slots, want %d", name, len(got.Slots), len(want.Slots))
		return
	}
	for i, g := range got.Slots {
		w := want.Slots[i]
		if g.Name != w.Name || g.Shape != w.Shape || g.Variadic != w.Variadic || g.Trainable != w.Trainable {
			t.Errorf("%s: got the slot %+v, want %+v", name, g, w)
		}
		if !slices.EqualFunc(g.Tensors, w.Tensors, func(a, b program.Operand) bool {
			return a.Type == b.Type && a.Slot == b.Slot && slices.Equal(a.Shape, b.Shape)
		}) {
			t.Errorf("%s, slot %s: got the tensors %v, want %v", name, g.Name, g.Tensors, w.Tensors)
		}
	}
}

// compareValues compares two maps from names to values.
func compareValues(t *testing.T, name string, got, want map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
	for key, w := range want {
		g, ok := got[key]
		if !ok || reflect.TypeOf(g) != reflect.TypeOf(w) || fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("%s: got %s = %#v, want %#v", name, key, g, w)
		}
	}
}
