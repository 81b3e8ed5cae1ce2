package opimpl

import (
	"fmt"
	"iter"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Resolver computes the types and shapes of an operator's slots: it starts with what the caller passes, and
// the operator's rules fill in the rest. It keeps its first error; later calls do nothing. S is the
// operator's slot type. Methods that take a slot are wrappers of those of its part that is not generic, since
// the package of an operator compiles all methods of a generic type again.
type Resolver[S ~int] struct{ resolver }

type resolver struct {
	op  *task.Operator
	res *task.Resolution
	err error

	usual [][2]int // tasks and steps with usual grains
}

// Resolve returns the function that applies an operator's rules, written for its attributes A and dimensions
// D.
func Resolve[S ~int, A task.Attrs, D any](rules func(r *Resolver[S], a A, d *D)) func(*task.Operator, task.Attrs, task.Given) (*task.Resolution, error) {
	return func(o *task.Operator, attrs task.Attrs, given task.Given) (*task.Resolution, error) {
		a, ok := attrs.(A)
		if !ok {
			return nil, wrongAttrs(o, a, attrs)
		}
		d := new(D)
		r := new(Resolver[S])
		if r.begin(o, given, d) {
			rules(r, a, d)
		}
		return r.end()
	}
}

// wrongAttrs returns an error about attributes of another type.
func wrongAttrs(o *task.Operator, want, got task.Attrs) error {
	return &op.Error{Operator: o.FullName(), Want: fmt.Sprintf("attributes of type %T", want), Got: fmt.Sprintf("%T", got)}
}

// end returns the resolution, or the first error.
func (r *resolver) end() (*task.Resolution, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.cut()
	return r.res, nil
}

// begin gives the resolver the inputs, whose number it checks, and the place of the dimensions. It reports
// whether the rules apply.
func (r *resolver) begin(o *task.Operator, given task.Given, dims any) bool {
	*r = resolver{op: o, res: &task.Resolution{
		Dims:   dims,
		Types:  make([]dtype.Type, len(o.Types)),
		Inputs: given,
		Slots:  make([][]task.Operand, len(o.Slots)),
		Grids:  make([][]op.Grid, len(o.Signatures)),
		Costs:  make([]task.Cost, len(o.Signatures)),
		Shards: make([][]task.ShardAxes, len(o.Shards)),
		Unused: make([]map[int]bool, len(o.Signatures)),
	}}
	for i, s := range o.Signatures {
		for range s.Steps {
			r.res.Grids[i] = append(r.res.Grids[i], *op.Line(0, 1))
		}
	}
	for i := range o.Slots {
		s, ops := &o.Slots[i], given.Operands[i]
		if n := given.Requested[i]; n != 0 || s.OnRequest {
			r.checkRequest(i, n)
		}
		if s.Role != task.RoleInput && !s.Provided {
			continue
		}
		r.res.Slots[i] = ops
		switch {
		case s.Variadic && (len(ops) < s.Min || len(ops) > s.Max):
			r.fail(i, whole, arity(s), fmt.Sprint(len(ops)))
		case given.Places[i] != nil:
			r.checkPlaces(i, given.Places[i])
		case !s.Variadic && len(ops) == 0 && !s.Optional:
			r.fail(i, 0, "a tensor", "none")
		case !s.Variadic && len(ops) > 1:
			r.fail(i, 0, "one tensor", fmt.Sprint(len(ops)))
		}
	}
	return r.err == nil
}

// checkPlaces checks the places of a slot's tensors in a list in which others are absent.
func (r *resolver) checkPlaces(slot int, places []int) {
	s, n := &r.op.Slots[slot], len(r.res.Slots[slot])
	if !s.Gaps {
		r.fail(slot, whole, "a list of tensors of which none is absent", fmt.Sprintf("tensors at the places %v", places))
		return
	}
	last := -1
	for _, at := range places {
		if at <= last {
			r.fail(slot, whole, "places that ascend from 0 or more", fmt.Sprint(places))
			return
		}
		last = at
	}
	switch most := min(s.Max, maxTensors); {
	case len(places) != n || task.Gaps(places) == nil:
		r.fail(slot, whole, fmt.Sprintf("the places of %d tensors in a list in which others are absent", n), fmt.Sprint(places))
	case last >= most:
		r.fail(slot, whole, fmt.Sprintf("a list of at most %d tensors", most), fmt.Sprint(last+1))
	}
}

// checkRequest checks how many tensors of an output the caller asks for.
func (r *resolver) checkRequest(slot, n int) {
	s := &r.op.Slots[slot]
	switch {
	case !s.OnRequest:
		r.fail(slot, whole, "an output that is made on request", fmt.Sprintf("a request of %d tensors", n))
	case s.Variadic && (n < s.Min || n > min(s.Max, maxTensors)):
		r.fail(slot, whole, arity(s)+" that the caller asks for", fmt.Sprint(n))
	case !s.Variadic && n > 1:
		r.fail(slot, whole, "at most one tensor", fmt.Sprint(n))
	}
}

// arity says in words how many tensors a variadic slot holds.
func arity(s *task.Slot) string {
	switch {
	case s.Max == task.Unbounded && s.Min == 1:
		return "one or more tensors"
	case s.Max == task.Unbounded:
		return fmt.Sprintf("at least %d tensors", s.Min)
	case s.Min == s.Max:
		return fmt.Sprintf("%d tensors", s.Min)
	}
	return fmt.Sprintf("%d to %d tensors", s.Min, s.Max)
}

// whole stands for a slot as a whole, rather than for one of its tensors, and none for no slot.
const (
	whole = -1
	none  = -1
)

// fail keeps an error about tensor number i of a slot, unless there is one already.
func (r *resolver) fail(slot, i int, want, got string) {
	if r.err == nil {
		e := &op.Error{Operator: r.op.FullName(), Want: want, Got: got}
		if slot >= 0 {
			e.Slot = tensorName(&r.op.Slots[slot], i)
		}
		r.err = e
	}
}

// tensorName names a slot in messages or, if the slot is variadic, one of its tensors: "input[2]".
func tensorName(s *task.Slot, i int) string {
	if !s.Variadic || i == whole {
		return s.Name
	}
	return fmt.Sprintf("%s[%d]", s.Name, i)
}

// task returns the number of a task.
func (r *resolver) task(id task.ID) int {
	for t, s := range r.op.Signatures {
		if s.ID == id {
			return t
		}
	}
	panic(fmt.Sprintf("opimpl: operator %s has no task %v", r.op.FullName(), id)) // which a registry has checked
}

func (r *resolver) below(slot int, bound task.Bound) {
	if r.res.Bounds == nil {
		r.res.Bounds = map[int]task.Bound{}
	}
	r.res.Bounds[slot] = bound
}

func (r *resolver) has(slot int) bool { return r.len(slot) > 0 }

func (r *resolver) len(slot int) int {
	if r.op.Slots[slot].Role == task.RoleArgument {
		return r.res.Inputs.Values[slot]
	}
	return len(r.res.Slots[slot])
}

func (r *resolver) places(slot int) []int { return r.res.Inputs.PlacesOf(slot) }

func (r *resolver) requested(slot int) bool { return r.res.Inputs.Requested[slot] > 0 }

func (r *resolver) asked(slot int) int { return r.res.Inputs.Requested[slot] }

func (r *resolver) tensor(slot int) Operand { return Operand{r, slot, 0} }

func (r *resolver) each(slot int) iter.Seq2[int, Operand] {
	return func(yield func(int, Operand) bool) {
		for i := range r.res.Slots[slot] {
			if r.err != nil || !yield(i, Operand{r, slot, i}) {
				return
			}
		}
	}
}

func (r *resolver) bindType(name string, slots []int) dtype.Type {
	tv, t := r.variable(name)
	for _, s := range slots {
		for i, o := range r.res.Slots[s] {
			switch {
			case r.err != nil:
			case !dtype.Contains(tv.Types, o.Type):
				r.fail(s, i, fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), o.Type.String())
			case *t == dtype.Invalid:
				*t = o.Type
			case *t != o.Type:
				r.fail(s, i, fmt.Sprintf("element type %s = %s", tv.Name, *t), o.Type.String())
			}
		}
	}
	return *t
}

// TypeFrom gives a dtype variable, unless an input has bound it, the first of the candidates that is given,
// that is, not dtype.Invalid. It must be one of the variable's types.
func (r *resolver) TypeFrom(name string, candidates ...dtype.Type) dtype.Type {
	tv, bound := r.variable(name)
	for _, t := range candidates {
		switch {
		case r.err != nil || *bound != dtype.Invalid || t == dtype.Invalid:
		case !dtype.Contains(tv.Types, t):
			r.fail(none, 0, fmt.Sprintf("element type %s in %s", tv.Name, dtype.Format(tv.Types)), t.String())
		default:
			*bound = t
		}
	}
	if *bound == dtype.Invalid {
		r.fail(none, 0, "an input or an attribute that says the element type "+tv.Name, "none")
	}
	return *bound
}

// variable returns a dtype variable and the place of its type.
func (r *resolver) variable(name string) (*task.TypeVar, *dtype.Type) {
	for i := range r.op.Types {
		if r.op.Types[i].Name == name {
			return &r.op.Types[i], &r.res.Types[i]
		}
	}
	panic(fmt.Sprintf("opimpl: operator %s has no element type %s", r.op.FullName(), name))
}

// Type returns the type of a dtype variable, dtype.Invalid before it is bound.
func (r *resolver) Type(name string) dtype.Type {
	_, t := r.variable(name)
	return *t
}

// TypeIf returns t if it is given, and otherwise dtype.Invalid.
func TypeIf(given bool, t dtype.Type) dtype.Type {
	if !given {
		return dtype.Invalid
	}
	return t
}

func (r *resolver) fixedType(slot int, t dtype.Type) {
	for i, o := range r.res.Slots[slot] {
		if o.Type != t {
			r.fail(slot, i, "element type "+t.String(), o.Type.String())
		}
	}
}

// Require fails with the spec's message, in which the values of what it names stand, unless ok.
func (r *resolver) Require(ok bool, format string, values ...any) {
	if ok || r.err != nil {
		return
	}
	for i, v := range values {
		switch v := v.(type) {
		case []int:
			values[i] = shape.Format(v)
		case interface{ Values() []int }:
			values[i] = shape.Format(v.Values())
		}
	}
	r.err = &op.Error{Operator: r.op.FullName(), Message: fmt.Sprintf(format, values...)}
}

// maxTensors is how many tensors a slot has at most whose number an expression gives.
const maxTensors = 1 << 16

func (r *resolver) count(slot, n int) int {
	if n < 0 || n > maxTensors {
		r.fail(slot, whole, fmt.Sprintf("0 to %d tensors", maxTensors), fmt.Sprint(n))
		return 0
	}
	return n
}

func (r *resolver) set(slot int, t dtype.Type, dims []int) {
	i := len(r.res.Slots[slot])
	for _, n := range dims {
		if n < 0 {
			r.fail(slot, i, "extents of 0 or more", shape.Format(dims))
			return
		}
	}
	o := task.Operand{Type: t, Shape: dims}
	if !shape.Fits(dims, t.Size()) {
		r.fail(slot, i, "a size that can be addressed", o.String())
		return
	}
	r.res.Slots[slot] = append(r.res.Slots[slot], o)
}

func (r *resolver) arg(slot int, v any) {
	if r.res.Args == nil {
		r.res.Args = map[int]any{}
	}
	r.res.Args[slot] = v
}

// Numbers gives constraint number i of a task the numbers of a list that has expressions.
func (r *resolver) Numbers(id task.ID, i int, list string, numbers ...int) {
	if r.res.Numbers == nil {
		r.res.Numbers = map[[2]int]map[string][]int{}
	}
	at := [2]int{r.task(id), i}
	if r.res.Numbers[at] == nil {
		r.res.Numbers[at] = map[string][]int{}
	}
	r.res.Numbers[at][list] = numbers
}

func (r *resolver) unused(id task.ID, slot int) {
	unused := &r.res.Unused[r.task(id)]
	if *unused == nil {
		*unused = map[int]bool{}
	}
	(*unused)[slot] = true
}

// Cost gives a task its floating-point operations, and the bytes that it moves if these are not those of the
// tensors that it reads and writes.
func (r *resolver) Cost(id task.ID, flops float64, bytes ...float64) {
	c := task.Cost{Known: true, Flops: flops}
	if len(bytes) > 0 {
		c.Bytes = bytes[0]
	}
	r.res.Costs[r.task(id)] = c
}

func (r *resolver) divide(dim string, slot int, lo, hi int) {
	if len(r.res.Slots[slot]) == 0 || lo >= hi {
		return
	}
	for k := range r.op.Shards {
		if r.op.Shards[k].Dim == dim {
			r.res.Shards[k] = append(r.res.Shards[k], task.ShardAxes{Slot: slot, Lo: lo, Hi: hi})
		}
	}
}
