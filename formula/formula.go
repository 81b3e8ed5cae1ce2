// Package formula compiles the formulas of operator specs into kernels, and derives their gradients.
//
// A formula is the text of a spec's key of that name: statements over indices, such as
//
//	output[n, o] = sum(k: input[n, k] * weight[o, k])
//
// A kernel is specialized for one instantiation of an operator: ranks, attributes, and which optional
// tensors are present. Register registers vectorized loops in the operator's element types. They are the
// kernels of all operators without a hand-written one. RegisterReference registers an interpreter that
// computes element by element in float64. It is the oracle of tests.
//
// The packages below are the stages of the compiler. expr parses formulas. program lowers a formula to
// statements over indices, for one instantiation of the operator. term is the expressions of statements.
// derive derives gradients. Tools of this module use these packages. Only package formula has a stable API.
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

// compiled is a program with its closures. Several goroutines may run it at once, each with its own memory.
type compiled struct {
	*program.Program
	code *code
}

// mistake returns an error in the formula of an operator.
func mistake(operator, message string) error {
	return &op.Error{Operator: operator, Message: "formula: " + message}
}

// missing is the error for a gradient that reads a tensor that the backward task does not get.
type missing struct{ operator, tensor string }

func (m missing) Error() string { return m.Unwrap().Error() }

// Unwrap returns the error as an *op.Error.
func (m missing) Unwrap() error {
	return mistake(m.operator, "gradients need "+m.tensor+", which is not there: no example of the spec shows that they read it, so add one, or state saved = true")
}

// opened retries a compilation that failed with missing, on programs of the same instantiation that keep
// attributes and conditions symbolic. The saved tensors were derived from such programs. The symbolic
// gradient may read another tensor, which is available.
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

// newProgram builds and compiles the program of an instantiation: attributes, resolved types and shapes, the
// seed of random numbers, and arguments of the call. The error is an *op.Error.
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

// useOf returns the instantiation of an operator, as the program builder takes it.
func useOf(o *task.Operator, attrs task.Attrs, r *task.Resolution, seed int, passed *task.Passed) (*program.Use, error) {
	if o.Gradient != nil {
		return gradientUse(o, attrs, r, seed, passed)
	}
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
		sl := &program.Slot{Name: s.Name, Shape: s.Shape, Type: s.Type, Variadic: s.Variadic, Trainable: s.Trainable, Output: s.Role == task.RoleOutput}
		for _, o := range r.Slots[i] {
			sl.Tensors = append(sl.Tensors, program.Operand{Type: o.Type, Shape: o.Shape, Slot: i})
		}
		u.Slots = append(u.Slots, sl)
	}
	return u, nil
}

// extents returns the values of a shape, all of which are constants in a program that runs.
func extents(dims []*term.Term) []int {
	out := make([]int, len(dims))
	for i, d := range dims {
		out[i], _ = d.Known()
	}
	return out
}

// count returns the number of elements of a tensor.
func count(l *program.Local) int { return shape.Prod(extents(l.Shape)) }
