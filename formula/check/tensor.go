package check

import (
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
)

// tensor is a slot, an intermediate tensor, or a scalar that the formula defines.
type tensor struct {
	name   string
	node   expr.Node // its first definition
	slot   *Slot     // nil if the tensor is no slot
	elems  []elem    // the shape; for a variadic slot it may depend on the number of the tensor
	shape  []string  // the shape in the syntax of a spec, if the tensor is no slot
	known  bool      // whether elems is known
	kinds  kinds     // of its elements
	int    poly      // value of a scalar integer
	within *extent   // of integers: bounds of the elements
	except poly      // of integers: the one value outside of within that elements may have, or nil
	scalar bool      // whether it has no index and is no slot
	bad    bool      // whether a statement that defines it has an error
	ahead  bool      // whether statements of a recurrence may read it before its definition
	by     []*expr.Statement
}

func (t *tensor) given() bool { return len(t.by) > 0 || t.bad }

// elements returns the kinds of the elements of t: all kinds if they are unknown.
func (t *tensor) elements() kinds {
	if t.bad && t.slot == nil || t.kinds == 0 {
		return kAny
	}
	return t.kinds
}

// slots declares the tensors of the slots of the spec, with their shapes and bounds.
func (f *formula) slots() {
	for _, sl := range f.s.Slots {
		t := &tensor{name: sl.Name, slot: sl, kinds: slotKinds(sl)}
		f.tensors[sl.Name] = t
		f.order = append(f.order, t)
		if sl.Written {
			f.states[sl.Name] = true
		}
	}
	f.perTensor()
	for _, t := range f.order {
		t.elems = f.shapeOf(t.slot, integer(atom(indexMark+"i")))
		t.known = len(t.elems) == len(t.slot.Shape) && t.slot.HasShape
		if t.slot.Below != "" {
			if n, err := expr.Parse(t.slot.Below); err == nil {
				if v, err := f.eval(n, &frame{closed: true, spec: true}, true); err == nil && v.int != nil {
					t.within = below(v.int)
				}
			}
			if t.slot.Except != "" {
				t.except = atom("the exception of " + t.name) // unless it is known better
				if n, err := expr.Parse(t.slot.Except); err == nil {
					if v, err := f.eval(n, &frame{closed: true, spec: true}, true); err == nil && v.int != nil {
						t.except = v.int
					}
				}
			}
		}
	}
}

// slotKinds returns the union of the kinds of the element types that a slot accepts.
func slotKinds(sl *Slot) kinds {
	var k kinds
	for _, name := range sl.Types {
		of := elementKind(name)
		if of == 0 {
			return kAny
		}
		k |= of
	}
	return k
}

// elementKind returns the kind of the elements of a dtype, such as kFloat for bf16, or 0 if there is no dtype
// of this name.
func elementKind(name string) kinds {
	switch t, err := dtype.Parse(name); {
	case err != nil:
		return 0
	case t.IsFloat():
		return kFloat
	case name == "bool":
		return kBool
	}
	return kInt
}

// shapeOf returns the shape of a slot. For a variadic slot it is the shape of the tensor with the given
// number, the value of i. Elements with errors are unknown; other checks report them.
func (f *formula) shapeOf(sl *Slot, number value) []elem {
	fr := &frame{closed: true, spec: true, params: map[string]value{"i": number}}
	if sl.Variadic == nil {
		fr.params = nil
	}
	if sl.BadShape {
		return nil
	}
	var out []elem
	for _, text := range sl.Shape {
		inner, rest := strings.CutSuffix(text, "...")
		e := elem{rest: rest}
		node, err := expr.Parse(inner)
		if err == nil {
			if v, err := f.eval(node, fr, true); err == nil {
				e.run, e.n = runOf(v), v.int
			}
		}
		out = append(out, e)
	}
	return out
}

// takes returns an error if a tensor cannot store value v. Integers convert to floats.
func (t *tensor) takes(n expr.Node, v value) *expr.Error {
	k := t.elements()
	if k&kFloat != 0 {
		k |= kInt
	}
	if err := want(n, v, kElement); err != nil {
		err.Message = "want a number or a boolean, got " + v.describe()
		return err
	}
	if v.kinds&k != 0 {
		return nil
	}
	e := failf(n, expr.BadType, "%s holds %s, got %s", t.name, plural(t.elements()), v.describe())
	if t.kinds == kInt && v.kinds == kFloat {
		e.Hint = "ceil, floor and round make integers of numbers; or " + t.name + " takes a floating-point type"
		expr.Walk(n, func(n expr.Node) {
			if b, ok := n.(*expr.Binary); ok && b.Op == "/" {
				e.Hint = "/ is division of real numbers here; quotient(a, b) divides integers, and ceil and floor make integers of numbers"
			}
		})
	}
	return e
}

func plural(k kinds) string {
	s := strings.TrimPrefix(strings.TrimPrefix(value{kinds: k}.describe(), "a "), "an ")
	return s + "s"
}
