package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// gradients declares a tensor for each gradient that the formula names (grad.NAME), if slot NAME is present.
func (b *builder) gradients(f *expr.Formula) {
	f.Walk(func(n expr.Node) {
		r, ok := n.(*expr.Read)
		if !ok || b.slots[r.Name] != nil {
			return
		}
		name, ok := strings.CutPrefix(r.Name, "grad.")
		sl := b.slots[name]
		if !ok || sl == nil || sl.Variadic {
			return
		}
		b.slots[r.Name] = &Slot{Name: r.Name, Shape: sl.Shape, Tensors: sl.Tensors, elements: sl.elements}
		of, there := b.byName[name]
		if !there {
			return
		}
		if b.program.Grads == nil {
			b.program.Grads = map[int]int{}
		}
		id := b.program.Add(&Local{Name: r.Name, Shape: b.program.Tensors[of].Shape, Kind: term.Real, Old: -1, Given: true})
		b.program.Grads[of], b.byName[r.Name] = id, id
	})
}

// withoutGradients returns the statements that neither define a gradient nor depend on one.
func withoutGradients(f *expr.Formula) []*expr.Statement {
	var out []*expr.Statement
	left := map[string]bool{} // names of values and functions that depend on gradients
	depends := func(n expr.Node) bool {
		found := false
		expr.Walk(n, func(n expr.Node) {
			switch n := n.(type) {
			case *expr.Read:
				found = found || strings.HasPrefix(n.Name, "grad.") || left[n.Name]
			case *expr.Ident:
				found = found || left[n.Name]
			case *expr.Call:
				found = found || left[n.Func]
			}
		})
		return found
	}
	functions := func() {
		for range f.Functions { // a fixed point, since each may call the others
			for _, fn := range f.Functions {
				left[fn.Name] = left[fn.Name] || depends(fn.X)
			}
		}
	}
	functions()
	dependent := func(s *expr.Statement) bool { return s.Gradient() != "" || depends(s.X) }
	for more := true; more; { // a statement of a recurrence may depend on one below it
		more = false
		for _, s := range f.Statements {
			if !dependent(s) {
				continue
			}
			for _, t := range s.Targets {
				more = more || !left[nameOf(t)]
				left[nameOf(t)] = true
			}
			functions()
		}
	}
	for _, s := range f.Statements {
		if !dependent(s) {
			out = append(out, s)
		}
	}
	return out
}

// splitBackward moves the statements that depend on gradients from Statements to Backward. It returns an
// error if the definition of a slot depends on a gradient.
func (b *builder) splitBackward() error {
	p := b.program
	if p.Grads == nil {
		return nil
	}
	depends, given := map[int]bool{}, map[int]bool{}
	for _, id := range p.Grads {
		depends[id] = true
	}
	p.Backward = p.Statements
	var forward []*Statement
	for _, s := range p.Backward {
		reads := false
		for _, m := range s.beside(p.Backward) {
			m.Value.Walk(func(n *term.Term) { reads = reads || n.Op == term.Element && depends[n.Read.Tensor] })
		}
		switch {
		case p.Tensors[s.Target].Slot >= 0 && reads:
			return fmt.Errorf("%s depends on a gradient", p.Tensors[s.Target].Name)
		case depends[s.Target]:
			given[s.Target] = true
		case !reads:
			forward = append(forward, s)
		}
		depends[s.Target] = depends[s.Target] || reads
	}
	for of, id := range p.Grads {
		if given[id] {
			p.Tensors[of].Varies = false // its gradient is by hand, so none is derived
		}
	}
	p.Statements = forward
	return nil
}

// pruneBackward drops the statements of Backward that no gradient by hand needs (dead code), and those that
// are among the forward statements as well.
func (b *builder) pruneBackward() {
	p := b.program
	need := map[int]bool{}
	for _, id := range p.Grads {
		need[id] = true
	}
	var kept []*Statement
	for _, s := range slices.Backward(p.Backward) {
		if !s.Needs(func(t int) bool { return need[t] }) || slices.Contains(p.Statements, s) {
			continue
		}
		kept = append(kept, s)
		p.Tensors[s.Target].Given = true
		s.Reads(func(r *term.Read) {
			for i := range r.Count {
				need[r.Tensor+i] = true
			}
		})
	}
	slices.Reverse(kept)
	p.Backward = kept
}

// HasGradient reports whether tensor t has a gradient: a derived one, or one that the formula reads or
// defines as grad.NAME.
func (p *Program) HasGradient(t int) bool {
	_, read := p.Grads[t]
	return p.Tensors[t].Varies || read
}

// ByHand returns the tensors whose gradients the formula defines, in ascending order.
func (p *Program) ByHand() []int {
	var out []int
	for of, id := range p.Grads {
		if slices.ContainsFunc(p.Backward, func(s *Statement) bool { return s.Target == id }) {
			out = append(out, of)
		}
	}
	slices.Sort(out)
	return out
}
