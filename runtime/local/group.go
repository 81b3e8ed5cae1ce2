package local

import (
	"fmt"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
)

// group returns the body of a fused task.
func (in *Instance) group(g *plan.Group, bodies [][]task.Body) (task.Body, error) {
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
		return chain{in.plan, parts}, nil
	case plan.Batch:
		return batch{in.plan, parts}, nil
	}
	return nil, fmt.Errorf("unknown form of a group %q", g.Form)
}

// part is a task of a group.
type part struct {
	body task.Body
	end  int // of its indices in a batch
	task *plan.Task
}

// run runs a range of the part. The error says which task it comes from.
func (p *part) run(in *plan.Plan, ctx *task.Ctx, r task.Range) error {
	if err := p.body.Run(ctx, r); err != nil {
		return fmt.Errorf("%s: %w", in.LabelOf(p.task), err)
	}
	return nil
}

// chain runs each range through all parts, so that what they hand on is in the cache.
type chain struct {
	plan  *plan.Plan
	parts []part
}

func (c chain) Run(ctx *task.Ctx, r task.Range) error {
	for i := range c.parts {
		if err := c.parts[i].run(c.plan, ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// batch runs parts whose indices lie one after the other.
type batch struct {
	plan  *plan.Plan
	parts []part
}

func (b batch) Run(ctx *task.Ctx, r task.Range) error {
	begin := 0
	for i := range b.parts {
		p := &b.parts[i]
		if own := (task.Range{Lo: max(r.Lo, begin) - begin, Hi: min(r.Hi, p.end) - begin}); own.Lo < own.Hi {
			if err := p.run(b.plan, ctx, own); err != nil {
				return err
			}
		}
		begin = p.end
	}
	return nil
}
