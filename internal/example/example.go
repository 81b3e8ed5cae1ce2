// Package example checks specs at their examples: it makes a use of an operator from each example, as the
// runtime does from tensors, and lowers the operator's formula for this use. So it finds formulas that
// cannot be lowered, and examples that do not fit their operators, before anything runs. It also infers
// facts from the formulas.
package example

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Choice completes an example to a use.
type Choice struct {
	Types   []dtype.Type // by dtype variable, for tensors that the caller passes
	Request bool         // outputs on request exist
}

// Use returns the use of an operator that an example describes. It returns an error if the example does not
// fit the operator.
func Use(o *model.Operator, x *task.Example, c Choice) (*program.Use, error) {
	u := newUse(o, x, c)
	if u.err != nil {
		return nil, u.err
	}
	return u.result(), nil
}

// Open lowers the formula at an example with extents as symbols, for the first choice of element types that
// the example fits. It returns nil if the example fits none.
func Open(o *model.Operator, x *task.Example) *program.Program {
	for _, c := range Choices(o) {
		u, err := Use(o, x, c)
		if err != nil {
			continue
		}
		u.Open, u.Definitions = true, definitions(o)
		if p, err := program.Build(u); err == nil {
			return p
		}
	}
	return nil
}

// definitions returns the defining expressions of dimensions, by name, for those that have one.
func definitions(o *model.Operator) map[string]expr.Node {
	out := map[string]expr.Node{}
	for _, d := range o.Dims {
		if d.Node != nil {
			out[d.Name] = d.Node
		}
	}
	return out
}

// newUse makes the use of an operator that an example describes.
func newUse(o *model.Operator, x *task.Example, c Choice) *use { return useOf(o, x, c, false) }

// useOf makes the use of an operator that an example describes. With adapts set, extents of inputs that
// expressions give are what these give, rather than those of the example.
func useOf(o *model.Operator, x *task.Example, c Choice, adapts bool) *use {
	u := &use{
		adapts: adapts,
		op:     o, choice: c, raw: map[string]any{}, attrs: map[string]any{}, dims: map[string]any{}, args: map[string]any{},
		types: make([]dtype.Type, len(o.Types)), tensors: make([][]program.Operand, len(o.Slots)),
	}
	u.evaluator = evaluator{name: u.value, count: u.tensorsOf, places: u.placesOf, axis: u.checkedAxis}
	if len(c.Types) != len(o.Types) {
		u.fail("want a type for each of %d dtype variables, got %d", len(o.Types), len(c.Types))
		return u
	}
	for _, d := range o.Dims {
		u.dims[d.Name] = unbound(d)
	}
	u.setAttrs(x)
	u.setPassed(x)
	u.setInputs(x)
	u.setAsked(x)
	for _, s := range o.Slots {
		if s.Pattern != nil {
			u.matchAll(s)
			u.checkAxes(s)
		}
	}
	u.bindTypes()
	for _, d := range o.Dims {
		given, ok := x.Dims[d.Name]
		switch {
		case ok:
			u.dims[d.Name] = given // the result of a Go function
		case d.Node != nil:
			u.dims[d.Name] = u.eval(d.Node)
		}
	}
	for _, a := range o.Args {
		switch a.Source {
		case task.FromExpression:
			u.args[a.Name] = u.eval(a.Expr)
		case task.FromSeed:
			u.args[a.Name] = exampleSeed
		}
	}
	u.require()
	for _, s := range o.Slots {
		if s.Pattern == nil {
			u.setSlot(s)
		}
	}
	return u
}

// exampleSeed replaces the seed, which a graph and a node would determine.
const exampleSeed = 7

// use is a use of an operator under construction. It keeps its first error, as an evaluator does; later
// calls do nothing.
type use struct {
	evaluator
	op      *model.Operator
	choice  Choice
	adapts  bool                // shapes of inputs follow from attributes, where they can
	raw     map[string]any      // attributes for package program
	attrs   map[string]any      // attributes for expressions; axes are not normalized
	dims    map[string]any      // int, []int or [][]int
	args    map[string]any      // of arguments that expressions define
	passed  []program.Passed    // arguments that the caller passes
	types   []dtype.Type        // by dtype variable; Invalid before it is bound
	tensors [][]program.Operand // by slot
	gaps    map[string][]int    // by slot: the places of tensors in a list in which others are absent
	asked   map[string]int      // by output: the number of tensors that the caller requests
	number  int                 // of the tensor of a variadic slot whose shape is evaluated
	parsed  *program.Parsed     // the formula, or nil before it is parsed
}

// result converts the use for package program.
func (u *use) result() *program.Use {
	out := &program.Use{Operator: u.op.Name, Formula: u.op.Operator.Formula, Parsed: u.parsed, Types: map[string]string{}, Dims: u.dims, Attrs: u.raw,
		Args: u.args, Passed: u.passed, Callees: u.op.Operator.Callees}
	for i, t := range u.op.Types {
		out.Types[t.Name] = u.types[i].String()
	}
	for i, s := range u.op.Slots {
		if s.Role == task.RoleScratch {
			continue
		}
		out.Slots = append(out.Slots, &program.Slot{Name: s.Name, Shape: s.Shape, Type: s.Type, Variadic: s.Variadic,
			Trainable: s.Trainable, Output: s.Role == task.RoleOutput, Tensors: u.tensors[i]})
	}
	return out
}

// unbound returns the initial value of a dimension. A list keeps it if there is no tensor.
func unbound(d model.Dim) any {
	switch {
	case d.Rest && d.Each:
		return [][]int(nil)
	case d.Rest || d.Each:
		return []int(nil)
	}
	return 0
}

// setInputs sets the tensors of slots that the caller passes.
func (u *use) setInputs(x *task.Example) {
	for _, s := range u.op.Slots {
		if s.Pattern == nil {
			continue
		}
		if dims, ok := x.Shapes[s.Name]; ok {
			u.add(s, u.givenType(s), dims)
		}
		for k := 0; s.Variadic; k++ {
			dims, ok := x.Shapes[fmt.Sprintf("%s.%d", s.Name, k)]
			if !ok {
				break
			}
			u.add(s, u.givenType(s), dims)
		}
		u.setPlaces(s, x.Places[s.Name])
		switch n := len(u.tensors[s.Number]); {
		case s.Variadic && (n < s.Min || n > s.Max):
			u.fail("%s: want %s, got %d tensors", s.Name, s.Tensors(), n)
		case !s.Variadic && !s.Optional && n == 0:
			u.fail("%s: want a shape, got none", s.Name)
		}
	}
}

// setPlaces sets the places of a slot's tensors in a list in which others are absent.
func (u *use) setPlaces(s *model.Slot, places []int) {
	switch n := len(u.tensors[s.Number]); {
	case places == nil:
		return
	case !s.Gaps || len(places) != n:
		u.fail("%s: want the places of %d tensors of a list in which others may be absent, got %v", s.Name, n, places)
	case n > 0 && places[n-1] >= s.Max:
		u.fail("%s: want at most %d tensors, got %d", s.Name, s.Max, places[n-1]+1)
	}
	if u.gaps == nil {
		u.gaps = map[string][]int{}
	}
	u.gaps[s.Name] = places
}

// setAsked sets the numbers of output tensors that the caller requests.
func (u *use) setAsked(x *task.Example) {
	u.asked = x.Counts
	for _, s := range u.op.Slots {
		if n := u.asked[s.Name]; s.Asked() && (n < s.Min || n > s.Max) {
			u.fail("%s: want %s, got %d tensors", s.Name, s.Tensors(), n)
		}
	}
}

// givenType returns the element type of a tensor that the caller passes.
func (u *use) givenType(s *model.Slot) dtype.Type {
	if s.Var < 0 {
		return s.Fixed
	}
	return u.choice.Types[s.Var]
}

// add appends a tensor to a slot. It checks the shape.
func (u *use) add(s *model.Slot, t dtype.Type, dims []int) {
	for _, n := range dims {
		if n < 0 {
			u.fail("%s: want extents of 0 or more, got %s", s.Name, shape.Format(dims))
			return
		}
	}
	if !shape.Fits(dims, t.Size()) {
		u.fail("%s: want a size that can be addressed, got the shape %s", s.Name, shape.Format(dims))
		return
	}
	if u.adapts {
		dims = slices.Clone(dims)
	}
	u.tensors[s.Number] = append(u.tensors[s.Number], program.Operand{Type: t, Shape: dims, Slot: s.Number})
}

// require checks the presence of inputs, the requirements of the operator, and the bounds of slots.
func (u *use) require() {
	for _, s := range u.op.Slots {
		if s.Role == task.RoleInput && s.PresentIf != nil && u.truth(s.PresentIf) != (len(u.tensors[s.Number]) > 0) {
			u.fail("%s is passed exactly if %s", s.Name, s.Present)
		}
	}
	for _, q := range u.op.Requires {
		if u.truth(q.Node) {
			continue
		}
		var values []any
		for _, n := range q.Names {
			values = append(values, u.shown(n))
		}
		u.fail(q.Format, values...)
	}
	for _, s := range u.op.Slots {
		u.eval(s.BelowX)
		u.eval(s.ExceptX)
	}
}

// shown formats the value of a name for a message.
func (u *use) shown(name string) any {
	if v, ok := u.attrs[name]; ok {
		return readable(v)
	}
	if t, ok := u.typeNamed(name); ok {
		return t
	}
	return readable(u.dims[name])
}

// setSlot sets the tensors of a slot that the operator allocates.
func (u *use) setSlot(s *model.Slot) {
	count := 1
	switch {
	case s.Asked():
		count = u.asked[s.Name]
	case s.Variadic:
		count = u.integer(s.CountX)
	case s.OnRequest && !u.choice.Request, !s.OnRequest && s.PresentIf != nil && !u.truth(s.PresentIf):
		count = 0
	}
	if count < 0 || count > maxTensors {
		u.fail("%s: want 0 to %d tensors, got %d", s.Name, maxTensors, count)
	}
	t := s.Fixed
	if s.Var >= 0 {
		t = u.types[s.Var]
	}
	for u.number = 0; u.number < count && u.err == nil; u.number++ {
		dims := []int{}
		for _, x := range s.Dims {
			if x.Rest {
				dims = append(dims, u.list(x.Node)...)
			} else {
				dims = append(dims, u.integer(x.Node))
			}
		}
		u.add(s, t, dims)
	}
}

// maxTensors bounds the number of tensors of a slot that an expression determines.
const maxTensors = 1 << 16
