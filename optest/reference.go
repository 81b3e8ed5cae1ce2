package optest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Call is a use of an operator whose outputs the option Reference computes.
type Call struct {
	Attrs task.Attrs // the attributes, such as *swish.Attrs
	// Tensors holds the elements of inputs and weights by slot, in row-major order, and Shapes the shapes of
	// all tensors. Several tensors of a slot have the names x.0, x.1 and so on. Weights that are not trained
	// have elements only if Values gives them.
	Tensors map[string][]float64
	Shapes  map[string][]int
	Type    dtype.Type // of the first type variable
}

// Reference computes the elements of outputs by slot, in row-major order, and those of weights that the
// operator changes. It is for an operator without a formula: the check KernelsComputeFormulas compares
// kernels with it. For an output whose extent depends on values, it returns the elements that count. Slots
// that it omits are not compared.
func Reference(operator string, compute func(Call) map[string][]float64) Option {
	return func(c *config) { c.references[operator] = compute }
}

// referenceValues returns what the reference gives, by tensor, and the names that it gives and the operator
// has not.
func (f *fixture) referenceValues(compute func(Call) map[string][]float64) (told values, others []string) {
	call := Call{Attrs: f.attrs, Tensors: map[string][]float64{}, Shapes: map[string][]int{}}
	if len(f.types) > 0 {
		call.Type = f.types[0]
	}
	names := map[string]string{} // of slots, by those of tensors
	for i := range f.op.Slots {
		slot := &f.op.Slots[i]
		for k, x := range f.node.Tensors(i) {
			name := slot.Name
			if slot.Variadic {
				name = fmt.Sprintf("%s.%d", slot.Name, k)
			}
			names[x.Name()] = name
			call.Shapes[name] = x.Shape()
			if v, ok := f.values[x.Name()]; ok {
				call.Tensors[name] = v
			}
		}
	}
	want := compute(call)
	told = values{}
	for _, x := range f.results {
		if elements, ok := want[names[x.Name()]]; ok {
			told[x.Name()] = elements
			delete(want, names[x.Name()])
		}
	}
	return told, slices.Sorted(maps.Keys(want))
}

// referenceDifferences compares results with the reference, tensor by tensor.
func (f *fixture) referenceDifferences(compute func(Call) map[string][]float64, got values) []string {
	want, others := f.referenceValues(compute)
	var out []string
	for _, x := range f.results {
		elements, ok := want[x.Name()]
		if !ok {
			continue
		}
		rel, abs := f.closeness(x)
		if d := difference(got[x.Name()], elements, rel, abs); d != "" {
			out = append(out, x.Name()+d)
		}
	}
	for _, name := range others {
		out = append(out, fmt.Sprintf("%s: want an output of the operator, or a weight that it changes,", name))
	}
	return out
}
