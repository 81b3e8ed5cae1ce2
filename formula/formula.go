// Package formula computes what operators mean: it runs the formulas of their specs, and derives gradients
// from them.
//
// A formula is the text of a spec's key of that name: statements over indices, such as
//
//	output[n, o] = sum(k: input[n, k] * weight[o, k])
//
// A kernel settles first what depends on a use of the operator: ranks, attributes, and which tensors are
// there. Register registers loops over strips, in the operator's types, which are the kernels of operators
// that have no other. RegisterReference registers an interpreter that computes in float64, element by
// element: what kernels are compared with.
//
// The packages below are the stages of the compiler: expr reads formulas, program makes statements over
// indices of them for a use of the operator, whose values are those of term, and derive works out gradients.
// Tools of this module use them. Only this package keeps its form between releases.
package formula

import (
	"errors"
	"reflect"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// compiled is a program that can be run. It may be run by several goroutines at once, each with a memory of
// its own.
type compiled struct {
	*program.Program
	code *code
}

// mistake returns an error in the formula of an operator, found in one use of it.
func mistake(operator, message string) error {
	return &op.Error{Operator: operator, Message: "formula: " + message}
}

// missing is the error of a gradient that reads a tensor of which backward is not given the elements.
type missing struct{ operator, tensor string }

func (m missing) Error() string { return m.Unwrap().Error() }

// Unwrap returns the error as an *op.Error.
func (m missing) Unwrap() error {
	return mistake(m.operator, "gradients need "+m.tensor+", which is not there: no example of the spec shows that they read it, so add one, or state saved = true")
}

// opened tries what needs a tensor that is not there again with the programs of the same use in which values
// are symbols: what backward is given follows from such programs, and in them the gradient may read another
// tensor.
func opened(p *program.Program, err error, try func(*program.Program) error) error {
	for _, unsettled := range []bool{false, true} {
		if _, lacks := errors.AsType[missing](err); !lacks {
			break
		}
		open, failed := p.Opened(unsettled)
		if failed != nil {
			break
		}
		err = try(open)
	}
	return err
}

// newProgram returns the program of an operator with a formula for attributes, what they resolve to, the seed
// of random numbers, and what the caller passes. The error is an *op.Error.
func newProgram(o *task.Operator, attrs task.Attrs, r *task.Resolution, seed int, passed *task.Passed) (*compiled, error) {
	u, err := useOf(o, attrs, r, seed, passed)
	if err != nil {
		return nil, mistake(o.FullName(), err.Error())
	}
	p, err := program.Build(u)
	if err != nil {
		return nil, mistake(o.FullName(), err.Error())
	}
	return &compiled{p, compile(p)}, nil
}

// useOf returns a use of an operator.
func useOf(o *task.Operator, attrs task.Attrs, r *task.Resolution, seed int, passed *task.Passed) (*program.Use, error) {
	u := &program.Use{Operator: o.FullName(), Formula: o.Formula, Callees: o.Callees, Types: map[string]string{}, Dims: map[string]any{}, Attrs: map[string]any{}, Args: map[string]any{}}
	for i, t := range o.Types {
		u.Types[t.Name] = r.Types[i].String()
	}
	if dims := reflect.Indirect(reflect.ValueOf(r.Dims)); dims.Kind() == reflect.Struct {
		for i := range dims.NumField() {
			u.Dims[dims.Type().Field(i).Name] = dims.Field(i).Interface()
		}
	}
	fields, err := attr.Object(attrs)
	if err != nil {
		return nil, err
	}
	for _, name := range o.AttrNames {
		u.Attrs[name] = fields[name]
	}
	for _, sig := range o.Signatures {
		for _, a := range sig.Args {
			if a.From == task.FromSeed {
				u.Args[o.Slots[a.Slot].Name] = seed
			}
		}
	}
	u.Passed = passedTo(o, passed)
	for i := range o.Slots {
		s := &o.Slots[i]
		if v, ok := r.Args[i]; ok {
			u.Args[s.Name] = v
		}
		if s.Role == task.RoleArgument || s.Role == task.RoleState || s.Role == task.RoleScratch {
			continue
		}
		sl := &program.Slot{Name: s.Name, Shape: s.Shape, Variadic: s.Variadic, Trainable: s.Trainable || s.Role == task.RoleWeight}
		for _, o := range r.Slots[i] {
			sl.Tensors = append(sl.Tensors, program.Operand{Type: o.Type, Shape: o.Shape, Slot: i})
		}
		u.Slots = append(u.Slots, sl)
	}
	return u, nil
}

// extents returns the values of extents, which are known in a program that runs.
func extents(dims []*term.Term) []int {
	out := make([]int, len(dims))
	for i, d := range dims {
		out[i], _ = d.Known()
	}
	return out
}

// count returns how many elements a tensor has.
func count(l *program.Local) int { return shape.Prod(extents(l.Shape)) }
