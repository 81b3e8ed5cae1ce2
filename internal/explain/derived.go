package explain

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// Derived is what follows from an operator's formula in a use of it.
type Derived struct {
	Attrs    string   // of the example, as JSON
	Inlined  []string // the formula, where it applies other operators
	Gradient []string // what backward computes, in the notation of formulas; nothing without a backward task
	Division []string // what dividing a dimension among devices does, such as "N can be divided"
}

// Derive returns what follows from an operator's formula at its examples, each result once. There is nothing
// where an example or the formula has errors, which are reported elsewhere.
func Derive(o *model.Operator) []Derived {
	if o.Formula == "" {
		return nil
	}
	var out []Derived
	for i := range o.Operator.Examples {
		x := &o.Operator.Examples[i]
		p := example.Open(o, x)
		if p == nil {
			continue
		}
		d := Derived{useText(x), inlined(o, p), gradient(o, p), division(o, p)}
		if !slices.ContainsFunc(out, func(e Derived) bool {
			return slices.Equal(e.Inlined, d.Inlined) && slices.Equal(e.Gradient, d.Gradient) && slices.Equal(e.Division, d.Division)
		}) {
			out = append(out, d)
		}
	}
	return out
}

// useText tells the attributes of an example, and what the caller passes.
func useText(x *task.Example) string {
	if x.Args == "" {
		return x.Attrs
	}
	return x.Attrs + ", args " + x.Args
}

// inlined returns the statements of a formula that applies other operators, with their formulas in it.
func inlined(o *model.Operator, p *program.Program) []string {
	if len(o.Operator.Callees) == 0 {
		return nil
	}
	var lines []string
	for _, s := range p.Statements {
		lines = append(lines, s.String())
	}
	return lines
}

// gradient returns the statements of the gradient, from those of all outputs.
func gradient(o *model.Operator, p *program.Program) []string {
	if o.Task(task.KindBackward) == nil {
		return nil
	}
	g, err := derive.Gradients(p, example.Outputs(o, p))
	if err != nil {
		return nil
	}
	var lines []string
	for _, s := range g.Statements {
		lines = append(lines, s.String())
	}
	return lines
}

// division says for each dimension of a slot that is a symbol what dividing it does.
func division(o *model.Operator, p *program.Program) []string {
	var symbols, out []string
	for _, l := range p.Tensors {
		for _, n := range l.Shape {
			if l.Slot >= 0 && n.Op == term.Symbol && n.Int > 1 && !slices.Contains(symbols, n.Name) {
				symbols = append(symbols, n.Name)
			}
		}
	}
	for _, e := range []derive.Effect{derive.Divided, derive.Partial} {
		names := slices.DeleteFunc(slices.Clone(symbols), func(s string) bool { return derive.Divide(p, s) != e })
		if len(names) > 0 {
			out = append(out, strings.Join(names, ", ")+" "+map[derive.Effect]string{
				derive.Divided: "can be divided", derive.Partial: "can be divided, which leaves partial sums"}[e])
		}
	}
	return out
}
