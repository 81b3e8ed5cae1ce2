package optest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Sharding divides operators along every axis that their specs declare as a shard. There are two parts, which
// differ in size if the extent is odd. The results of the parts together must be those of the whole.
func (k *Kit) Sharding(t *testing.T) {
	divided := map[string]bool{}
	whole := k.forEachSample(t, "Sharding", func(t *testing.T, s sample) {
		if !s.double() && s.widens() {
			return
		}
		f := s.fixture(t)
		want := f.run(t, f.forward(t), f.values, Execution{})
		for k, axes := range f.node.Resolved.Shards {
			if slices.ContainsFunc(axes, func(a task.ShardAxes) bool {
				x := f.node.Tensors(a.Slot)
				return len(x) > 0 && shape.Prod(x[0].Shape()[a.Lo:a.Hi]) > 1
			}) {
				divided[s.title()+"."+s.op.Shards[k].Dim] = true
			}
		}
		divisions, err := s.op.Divisions(f.node.Resolved)
		if err != nil {
			f.fatalf(t, "%v", err)
		}
		for _, of := range divisions {
			if d := (division{f, of}); d.units(t) > 1 {
				d.check(t, want)
			}
		}
	})
	for _, o := range k.operators {
		for _, shard := range o.Shards {
			if whole[o] && !divided[k.title(&o.Operator)+"."+shard.Dim] {
				t.Errorf("operator %s: want an example that can be divided along %s, got none", k.title(&o.Operator), shard.Dim)
			}
		}
	}
}

// division divides a fixture along a dimension.
type division struct {
	*fixture
	of task.Division
}

// axis returns the axis along which tensors of a slot are divided, or -1 if they are not.
func (d division) axis(slot int) int {
	if axis, ok := d.of.Axes[slot]; ok {
		return axis
	}
	return -1
}

// units returns into how many equal pieces all divided axes can be cut, and what the attribute counts: the
// features of several heads are divided where heads are.
func (d division) units(t *testing.T) int {
	t.Helper()
	units := d.count(t)
	for slot, axis := range d.of.Axes {
		for _, x := range d.node.Tensors(slot) {
			units = gcd(units, x.Shape()[axis])
		}
	}
	return units
}

// count returns the value of the attribute that gives the extent, or 0 if none does.
func (d division) count(t *testing.T) (n int) {
	t.Helper()
	if d.of.Attr == "" {
		return 0
	}
	object, err := task.AttrObject(d.attrs)
	if err == nil {
		err = json.Unmarshal(object[d.of.Attr], &n)
	}
	if err != nil {
		d.fatalf(t, "divided along %s: attribute %s: %v", d.title(), d.of.Attr, err)
	}
	return n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// title names the axis that is divided.
func (d division) title() string {
	for slot := range d.op.Slots {
		if axis := d.axis(slot); axis >= 0 {
			return fmt.Sprintf("axis %d of %s", axis, d.op.Slots[slot].Name)
		}
	}
	return "no axis"
}

// stated reports whether the spec says that the dimension may be divided.
func (d division) stated() bool {
	for _, axes := range d.node.Resolved.Shards {
		for _, a := range axes {
			if at := d.axis(a.Slot); a.Lo <= at && at < a.Hi {
				return true
			}
		}
	}
	return false
}

// check runs the parts, and compares their results with those of the whole. The parts of a partial result add
// up to the whole.
func (d division) check(t *testing.T, want values) {
	t.Helper()
	units := d.units(t)
	cut := (units + 1) / 2
	low, high := d.part(t, 0, cut, units), d.part(t, cut, units, units)
	if low == nil || high == nil {
		return // the operator refuses a part
	}
	for slot := range d.op.Slots {
		for _, x := range d.node.Tensors(slot) {
			if !slices.Contains(d.results, x) {
				continue
			}
			name, axis := x.Name(), d.axis(slot)
			if axis < 0 && d.of.Partial {
				sum := slices.Clone(low[name])
				for i := range sum {
					sum[i] += high[name][i]
				}
				if !near(sum, want[name], d.precision()*10*d.tolerance()) {
					d.errorf(t, "divided along %s: the sum of both parts of %s is %v, want %v", d.title(), name, sum, want[name])
				}
				continue
			}
			for _, p := range []struct {
				lo, hi int
				got    values
			}{{0, cut, low}, {cut, units, high}} {
				part := want[name]
				if axis >= 0 {
					part = slice(part, x.Shape(), axis, p.lo, p.hi, units)
				}
				if !near(p.got[name], part, d.precision()*10*d.tolerance()) {
					d.errorf(t, "divided along %s: %s of [%d, %d) of %d is %v, want %v", d.title(), name, p.lo, p.hi, units, p.got[name], part)
				}
			}
		}
	}
}

// part runs the operator on the pieces in [lo, hi) of the axis, which has so many units. It returns nil if
// the operator refuses them, and the spec does not say that the dimension may be divided.
func (d division) part(t *testing.T, lo, hi, units int) values {
	t.Helper()
	s := d.sample
	s.attrs = d.attrsOf(t, d.count(t)/units*(hi-lo))
	s.shapes = maps.Clone(s.shapes)
	fed := maps.Clone(d.values)
	for slot := range d.op.Slots {
		axis := d.axis(slot)
		if axis < 0 {
			continue
		}
		for k, x := range d.node.Tensors(slot) {
			for _, key := range []string{d.op.Slots[slot].Name, fmt.Sprintf("%s.%d", d.op.Slots[slot].Name, k)} {
				if dims, ok := s.shapes[key]; ok {
					dims = slices.Clone(dims)
					dims[axis] = dims[axis] / units * (hi - lo)
					s.shapes[key] = dims
				}
			}
			if v, ok := fed[x.Name()]; ok {
				fed[x.Name()] = slice(v, x.Shape(), axis, lo, hi, units)
			}
		}
	}
	if once := d.of.Once; once >= 0 && lo > 0 {
		for _, x := range d.node.Tensors(once) {
			fed[x.Name()] = make([]float64, len(fed[x.Name()])) // the first part has it
		}
	}
	f, err := newFixture(s, domains[0])
	if err != nil && !d.stated() {
		return nil
	}
	if err != nil {
		d.fatalf(t, "divided along %s: %v", d.title(), err)
	}
	for _, x := range slices.Concat(f.wrt, inputsOf(f)) {
		if v, ok := fed[x.Name()]; ok && len(v) != shape.Prod(x.Shape()) {
			d.fatalf(t, "divided along %s: part of %s has %d elements, want %v", d.title(), x.Name(), len(v), x.Shape())
		}
	}
	return f.run(t, f.forward(t), fed, Execution{})
}

// attrsOf returns the attributes for a part. If the dimension is an attribute, it is set to extent.
func (d division) attrsOf(t *testing.T, extent int) task.Attrs {
	t.Helper()
	data, err := json.Marshal(d.attrs)
	if err != nil {
		d.fatalf(t, "%v", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		d.fatalf(t, "%v", err)
	}
	if d.of.Attr == "" {
		return d.attrs
	}
	fields[d.of.Attr] = extent
	if data, err = json.Marshal(fields); err != nil {
		d.fatalf(t, "%v", err)
	}
	at, err := d.op.DecodeAttrs(data)
	if err != nil {
		d.fatalf(t, "%v", err)
	}
	return at
}

// inputsOf lists the inputs of a fixture's operator.
func inputsOf(f *fixture) []graph.Tensor { return slices.Collect(maps.Values(f.inputs)) }

// slice returns the elements of a row-major tensor in the pieces [lo, hi) of an axis, which has so many.
func slice(x []float64, dims []int, axis, lo, hi, units int) []float64 {
	piece := dims[axis] / units * shape.Prod(dims[axis+1:])
	var out []float64
	for o := range shape.Prod(dims[:axis]) {
		at := o * units * piece
		out = append(out, x[at+lo*piece:at+hi*piece]...)
	}
	return out
}

// near reports whether numbers are equal up to the rounding of sums.
func near(got, want []float64, precision float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return same(a, b) || math.Abs(a-b) <= precision*max(1, math.Abs(b)) })
}
