package opgen_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/unique"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// TestFormulas registers operators in several ways, and runs a network of those that come with a linear
// layer.
func TestFormulas(t *testing.T) {
	tests := map[string]struct {
		register func(*task.Registry) error
		options  []opgen.Option
		err      string // of Open or of a run
	}{
		"one operator":           {register: opgen.Formulas(linear.Operator)},
		"an operator twice":      {register: opgen.Formulas(linear.Operator, linear.Operator)},
		"after a catalogue":      {register: catalogue.Register, options: []opgen.Option{opgen.Register(opgen.Formulas(linear.Operator))}},
		"in two lists":           {register: opgen.Formulas(adam.Operator, linear.Operator), options: []opgen.Option{opgen.Register(opgen.Formulas(linear.Operator))}},
		"no operator":            {register: opgen.Formulas(), err: "want a registered task"},
		"another operator":       {register: opgen.Formulas(constant.Operator), err: "want a registered task"},
		"no formula":             {register: opgen.Formulas(unique.Operator), err: "unique"},
		"nil":                    {register: opgen.Formulas(nil, linear.Operator), err: "got nil"},
		"a catalogue after both": {register: opgen.Formulas(linear.Operator), options: []opgen.Option{opgen.Register(catalogue.Register)}, err: "linear"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := runLinear(test.register, test.options)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got error %v, want one with %q", err, test.err)
			}
		})
	}
}

// run runs a linear layer on ones in a session of its own.
func runLinear(register func(*task.Registry) error, options []opgen.Option) (err error) {
	s, err := opgen.Open(register, options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, g := context.Background(), graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	y := linear.Apply(g, linear.Defaults(4), x)
	p, err := s.Inference(ctx, g, y)
	if err != nil {
		return err
	}
	return p.Run(ctx, opgen.With(x, []float32{1, 1, 1, 1, 1, 1}))
}
