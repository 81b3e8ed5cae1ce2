package local

import (
	"fmt"
	"runtime/debug"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
)

// group returns the body of a fused task.
func (in *Instance) group(g *plan.Group, bodies [][]op.Body) (op.Body, error) {
	parts := make([]part, len(g.Parts))
	end := 0
	for i := range g.Parts {
		t := &g.Parts[i]
		if t.Group != nil {
			return nil, fmt.Errorf("want tasks as parts of a group, got a group")
		}
		body, err := in.body(t, bodies)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		end += t.Over
		parts[i] = part{body, end, t}
	}
	switch g.Form {
	case plan.Chain:
		return chain{parts}, nil
	case plan.Batch:
		return batch{parts}, nil
	}
	return nil, fmt.Errorf("unknown form of a group %q", g.Form)
}

// part is a task of a group.
type part struct {
	body op.Body
	end  int // of its indices in a batch
	task *plan.Task
}

// partError is the error of a part of a group: which one, in which range of its own, and what its body
// returned or the *PanicError that it raised.
type partError struct {
	task *plan.Task
	at   op.Range
	err  error
}

func (e *partError) Error() string { return e.err.Error() }

// run runs a range of the part.
func (p *part) run(ctx *op.Ctx, r op.Range) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &partError{p.task, r, &PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	if err := p.body.Run(ctx, r); err != nil {
		return &partError{p.task, r, err}
	}
	return nil
}

// chain runs each range through all parts, so that what they hand on is in the cache.
type chain struct{ parts []part }

func (c chain) Run(ctx *op.Ctx, r op.Range) error {
	for i := range c.parts {
		if err := c.parts[i].run(ctx, r); err != nil {
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
