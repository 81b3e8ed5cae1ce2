package oracle

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// Question asks for gradients.
type Question struct {
	// Seeds holds the gradients of outputs, by slot and tensor. What it lacks counts as 0.
	Seeds map[string][][]float64
	// Places lists the elements whose gradients are asked for.
	Places []Place
}

// Answer is what a formula gives.
type Answer struct {
	Results map[string][]*Result // by slot: of all tensors that the formula gives
	// Gradients holds the gradients of the places that were asked for, and Given those that the formula gives
	// by hand.
	Gradients []Element
	Given     map[string]*Result
	Steps     int
}

// Answer computes what the formula gives, and the gradients that q asks for. The error has the line of the
// formula that fails, or is ErrAmbiguous or ErrTooLong.
func (u *Use) Answer(q Question) (*Answer, error) {
	out := &Answer{}
	for first := 0; first == 0 || first < len(q.Places); first += passLanes {
		lanes := q.Places[min(first, len(q.Places)):min(first+passLanes, len(q.Places))]
		if err := u.pass(q, lanes, first == 0, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pass evaluates the formula once, with the derivatives by some elements.
func (u *Use) pass(q Question, lanes []Place, first bool, out *Answer) (err error) {
	var e *evaluation
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if f, ok := r.(failure); ok {
			err = &formulaError{Message: f.message}
			if e != nil {
				err = &formulaError{Line: e.line, Message: f.message}
			}
			return
		}
		if x, ok := r.(error); ok && (errors.Is(x, ErrAmbiguous) || errors.Is(x, ErrTooLong)) {
			err = x
			return
		}
		panic(r)
	}()
	source := strings.Join(u.Formula, "\n")
	f, errs := expr.ParseFormula(source)
	if len(errs) > 0 {
		return &formulaError{Message: errs[0].Message}
	}
	use := *u
	if use.MaxSteps == 0 {
		use.MaxSteps = 1 << 24
	}
	e = use.evaluation(f)
	byHand := e.gradients(f, q.Seeds)
	for i, p := range lanes {
		a := e.arrays[p.Slot][p.Tensor]
		if a.kind != real || !a.varies {
			continue
		}
		x := &a.reals[p.Number]
		x.d[i], x.varies, x.lanes = 1, true, x.lanes|1<<i
	}
	e.run(f, source)
	out.Steps += e.steps
	if first {
		out.Results, out.Given = map[string][]*Result{}, map[string]*Result{}
		for _, s := range u.Slots {
			for i := range s.Tensors {
				if l := e.arrays[s.Name]; len(l) > i && l[i] != nil && e.gives(f, s.Name) {
					out.Results[s.Name] = append(out.Results[s.Name], l[i].result(e.unit))
				}
			}
		}
		for _, name := range byHand {
			out.Given[name] = e.arrays["grad."+name][0].result(e.unit)
		}
	}
	for i, p := range lanes {
		if g := out.Given[p.Slot]; g != nil {
			out.Gradients = append(out.Gradients, g.Elements[p.Number])
			continue
		}
		out.Gradients = append(out.Gradients, e.derivative(q.Seeds, i))
	}
	return nil
}

// derivative returns the derivative, in a lane, of the sum of all outputs times their seeds.
func (e *evaluation) derivative(seeds map[string][][]float64, lane int) Element {
	v, bound, size, terms := 0.0, 0.0, 0.0, 0
	for _, slot := range slices.Sorted(maps.Keys(seeds)) {
		for t, list := range seeds[slot] {
			arrays := e.arrays[slot]
			if t >= len(arrays) || arrays[t] == nil || arrays[t].kind != real {
				continue
			}
			for i, w := range list {
				x := arrays[t].reals[i]
				if w == 0 || !x.varies {
					continue
				}
				d := w * x.d[lane]
				v += d
				bound += math.Abs(w) * x.de[lane]
				size += math.Abs(d)
				if d != 0 {
					terms++
				}
			}
		}
	}
	return Element{Real: v, Bound: safety * e.unit * (bound + size*(1+math.Sqrt(float64(terms))/2))}
}

// gives reports whether a statement gives elements of a slot.
func (e *evaluation) gives(f *expr.Formula, name string) bool {
	for _, st := range f.Statements {
		for _, t := range st.Targets {
			if nameOf(t) == name {
				return true
			}
		}
	}
	return false
}

// result returns the elements of a tensor with their bounds.
func (a *array) result(unit float64) *Result {
	out := &Result{Type: a.typ, Shape: a.shape}
	for _, n := range a.reals {
		out.Elements = append(out.Elements, Element{Real: n.v, Bound: safety * unit * n.err})
	}
	for _, v := range a.ints {
		v = v.settled()
		x := Element{Real: float64(v.i), Whole: v.i}
		if a.typ == dtype.U64 { // which has no sign
			x.Real = float64(uint64(v.i))
		}
		if v.unsure {
			x.Bound = math.Inf(1)
		}
		out.Elements = append(out.Elements, x)
	}
	return out
}

// evaluation returns the evaluation of a formula before its first statement.
func (u *Use) evaluation(f *expr.Formula) *evaluation {
	e := &evaluation{use: u, unit: u.unit(), functions: map[string]*expr.Function{}, slots: map[string]*Slot{}, elements: map[string][]shapeElement{},
		attrs: map[string]value{}, values: map[string]value{}, lists: map[string][]value{}, dims: map[string]string{}, ranges: map[string]interval{},
		arrays: map[string][]*array{}, old: map[string][]*array{}, inlined: map[*expr.Call]*evaluation{}, perTensor: map[string]bool{}, begun: map[*expr.Statement]bool{},
		free: map[*expr.Reduce]map[string]bool{}, callees: calleesOf(u.Callees)}
	for _, fn := range f.Functions {
		e.functions[fn.Name] = fn
	}
	for name, t := range u.Types {
		e.values[name] = textValue(t)
	}
	for name, v := range u.Args {
		e.values[name] = plain(v)
	}
	e.values["pi"], e.values["inf"], e.values["iteration"] = realValue(constant(math.Pi)), realValue(constant(math.Inf(1))), whole(int64(u.Step))
	for name, v := range u.Attrs {
		e.attrs[name] = decoded(v)
	}
	for _, s := range u.Slots {
		e.slots[s.Name] = s
		e.elements[s.Name] = elementsOf(s.Shape)
		for i, t := range s.Tensors {
			a := newArray(kindOf(t.Type), t.Type, t.Shape)
			a.load(t)
			a.varies = a.kind == real && s.Trainable
			e.arrays[s.Name] = append(e.arrays[s.Name], a)
			e.old[s.Name] = append(e.old[s.Name], a.copied())
			_ = i
		}
	}
	each := map[string]bool{}
	for _, x := range e.elements {
		for _, name := range listed(x) {
			each[name] = true
		}
	}
	for name, v := range u.Dims {
		e.setDim(name, v, each[name])
	}
	return e
}

// setDim gives a dimension its value; each says that each tensor of a slot has its own.
func (e *evaluation) setDim(name string, v any, each bool) {
	switch v := v.(type) {
	case int:
		e.values[name] = whole(int64(v))
	case []int:
		e.values[name] = extents(v)
		for _, n := range v {
			if each {
				e.lists[name] = append(e.lists[name], whole(int64(n)))
			}
		}
	case [][]int:
		for _, dims := range v {
			e.lists[name] = append(e.lists[name], extents(dims))
		}
		items := make([]item, len(v))
		e.values[name] = listOf(items, false)
	}
	if lower := strings.ToLower(name); lower != name {
		e.dims[lower] = name
	}
}

// load gives an array the elements of a tensor, if there are any.
func (a *array) load(t *Tensor) {
	switch {
	case a.kind == real && t.Real != nil:
		for i, v := range t.Real {
			a.reals[i] = exactly(v)
		}
		a.given = true
	case a.kind != real && t.Whole != nil:
		for i, v := range t.Whole {
			a.ints[i] = value{kind: a.kind, i: v, unsigned: t.Type == dtype.U64}
		}
		a.given = true
	case shape.Prod(t.Shape) == 0:
		a.given = true
	}
}

// gradients adds the tensors of the gradients that a formula names, and returns the slots whose gradients it
// gives.
func (e *evaluation) gradients(f *expr.Formula, seeds map[string][][]float64) []string {
	var given []string
	for _, st := range f.Statements {
		if st.When != nil && st.Gradient() != "" && !e.value(st.When, &scope{}, false).truth() {
			continue
		}
		if name := st.Gradient(); name != "" && !slices.Contains(given, name) && e.slots[name] != nil && len(e.slots[name].Tensors) > 0 {
			given = append(given, name)
		}
	}
	f.Walk(func(n expr.Node) {
		r, ok := n.(*expr.Read)
		if !ok || e.slots[r.Name] != nil {
			return
		}
		name, ok := strings.CutPrefix(r.Name, "grad.")
		sl := e.slots[name]
		if !ok || sl == nil {
			return
		}
		e.slots[r.Name] = &Slot{Name: r.Name, Shape: sl.Shape, Tensors: sl.Tensors}
		e.elements[r.Name] = e.elements[name]
		for i, t := range sl.Tensors {
			a := newArray(real, t.Type, t.Shape)
			if s := seeds[name]; i < len(s) && !slices.Contains(given, name) {
				for k, v := range s[i] {
					a.reals[k] = exactly(v)
				}
			}
			a.given = true
			e.arrays[r.Name] = append(e.arrays[r.Name], a)
		}
	})
	for _, name := range given {
		for _, a := range e.arrays[name] {
			a.varies = false // nothing is derived for it
		}
	}
	return given
}
