package cpu

import (
	"runtime/debug"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// BindGroup returns the body of a fused task.
func (b *Backend) BindGroup(form plan.Form, launchables []engine.Launchable, over []int) (engine.Launchable, error) {
	parts := make([]part, len(launchables))
	end, whole, contained := 0, false, true
	for i, l := range launchables {
		end += over[i]
		parts[i] = part{l.(launchable).Body, end, i}
		contained = contained && l.(launchable).contained
		whole = whole || op.IsWhole(parts[i].body)
	}
	switch {
	case form == plan.Chain && whole:
		return launchable{wholeChain{parts, over}, contained}, nil
	case form == plan.Chain:
		return launchable{chain{parts}, contained}, nil
	}
	return launchable{batch{parts}, contained}, nil
}

// part is a task of a group.
type part struct {
	body   op.Body
	end    int // of its indices in a batch
	number int
}

// partError is the error of a part of a group in a range of the part. err is the error of the body, or an
// *engine.PanicError.
type partError struct {
	part int
	at   op.Range
	err  error
}

func (e *partError) Error() string { return e.err.Error() }

// run runs a range of the part.
func (p *part) run(ctx *op.Ctx, r op.Range) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &partError{p.number, r, &engine.PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	if err := p.body.Run(ctx, r); err != nil {
		return &partError{p.number, r, err}
	}
	return nil
}

// chain runs all parts on a range before it takes the next, so that intermediate elements stay in the cache.
type chain struct{ parts []part }

func (c chain) Run(ctx *op.Ctx, r op.Range) error {
	for i := range c.parts {
		if err := c.parts[i].run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// wholeChain is a chain of which parts compute their steps at once. So the chain does, in its first range: no
// part has what it needs before.
type wholeChain struct {
	parts []part
	over  []int // how many indices each part goes over
}

// Whole returns true.
func (wholeChain) Whole() bool { return true }

func (c wholeChain) Run(ctx *op.Ctx, r op.Range) error {
	if r.Lo > 0 {
		return nil
	}
	for i := range c.parts {
		if err := c.parts[i].run(ctx, op.Range{Hi: c.over[i]}); err != nil {
			return err
		}
	}
	return nil
}

// batch runs parts whose indices lie one after the other.
type batch struct{ parts []part }

func (b batch) Run(ctx *op.Ctx, r op.Range) error {
	begin := 0
	for i := range b.parts {
		p := &b.parts[i]
		if own := (op.Range{Lo: max(r.Lo, begin) - begin, Hi: min(r.Hi, p.end) - begin}); own.Lo < own.Hi {
			if err := p.run(ctx, own); err != nil {
				return err
			}
		}
		begin = p.end
	}
	return nil
}
