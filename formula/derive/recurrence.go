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
	behind := map[int]int{} // by target: the tensor of what statements behind the block add
	for _, s := range own {
		l, prefix := d.p.Tensors[s.Target], "grad."
		_, given := d.out.Of[s.Target]
		if id := d.behind(s.Target); id >= 0 {
			behind[s.Target], given = id, true
		}
		if given {
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
	d.within = true
	defer func() { d.within = false }()
	for _, s := range own {
		if err := d.statement(s); err != nil {
			return err
		}
	}
	for _, s := range own {
		a := d.adjoints[s.Target]
		sum, scatters := d.collect(s.Target, a.vars)
		for _, c := range scatters { // no element may be added to before all that adds to it is there
			x := d.gather(s.Target, c, a.vars, true)
			if x == nil {
				return fmt.Errorf("the gradient of %s adds to elements of which values decide, which a recurrence cannot", d.p.Tensors[s.Target].Name)
			}
			sum = term.Sum(sum, x)
		}
		for _, of := range []map[int]int{behind, d.out.Of} {
			if id, is := of[s.Target]; is {
				sum = term.Sum(d.elementAt(id, a.vars), sum)
			}
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

// behind stores the gradient that the statements behind a recurrence give to tensor t, and forgets their
// contributions, if one of them adds to elements which gather does not find. It returns the tensor of the
// gradient, or -1. These sums are whole before the recurrence begins, whereas its own must follow its order.
func (d *deriver) behind(t int) int {
	vars := d.indices(t)
	sum, scatters := d.collect(t, vars)
	if len(scatters) == 0 {
		return -1
	}
	l := d.p.Tensors[t]
	id := d.tensor("grad."+l.Name, l.Shape)
	d.give(id, vars, d.neat(sum), scatters)
	d.found[t] = nil
	return id
}
