package derive

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// recurrence derives the gradients of a recurrence (backpropagation through time). The result is a recurrence
// in the opposite direction: the gradient of an element sums the contributions of statements behind the block
// and those of statements of the block at later values of the index.
func (d *deriver) recurrence(block []*program.Statement) error {
	var own []*program.Statement // with gradients
	reached := false
	for _, s := range slices.Backward(block) {
		if l := d.p.Tensors[s.Target]; !l.Varies || l.Kind != term.Real || !d.p.Depends(s.Value) {
			continue
		}
		own = append(own, s)
		_, given := d.out.Of[s.Target]
		reached = reached || given || len(d.found[s.Target]) > 0
	}
	if !reached {
		return nil
	}
	for _, s := range own {
		l, prefix := d.p.Tensors[s.Target], "grad."
		if _, given := d.out.Of[s.Target]; given {
			prefix = "total."
		}
		a := &adjoint{vars: d.indices(s.Target), tensor: d.tensor(prefix+l.Name, l.Shape)}
		a.name = d.p.Tensors[a.tensor].Name
		if prefix == "grad." {
			d.out.Between[s.Target] = a.tensor
		}
		d.adjoints[s.Target] = a
	}
	from := len(d.out.Statements)
	for _, s := range own {
		if err := d.statement(s); err != nil {
			return err
		}
	}
	for _, s := range own {
		a := d.adjoints[s.Target]
		sum, scatters := d.collect(s.Target, a.vars)
		if len(scatters) > 0 {
			return fmt.Errorf("the gradient of %s adds to elements of which values decide, which a recurrence cannot", d.p.Tensors[s.Target].Name)
		}
		if given, is := d.out.Of[s.Target]; is {
			sum = term.Sum(d.elementAt(given, a.vars), sum)
		}
		d.give(a.tensor, a.vars, d.neat(sum), nil)
	}
	ordered, err := program.Ordered(d.out.Statements[from:])
	if err != nil {
		return fmt.Errorf("the gradient of a recurrence: %w", err)
	}
	d.out.Statements = append(d.out.Statements[:from], ordered...)
	return nil
}
