package plan

import (
	"fmt"

	"github.com/opgen/opgen/runtime/internal/memplan"
	"github.com/opgen/opgen/runtime/region"
)

func align(n int64) int64 { return (n + Align - 1) / Align * Align }

// buffers returns the roots that share the arena, and the memory that each of them needs, in multiples of unit
// bytes.
//
// Between the last task and the first, results are fetched and inputs fed. That is one more step, so that
// what is fed for the next run does not destroy what the last run computed.
func (p *Plan) buffers(unit int64) (roots []int, buffers []memplan.Buffer) {
	between := len(p.Tasks)
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.Use == Variable || r.Place.Bytes == 0 || r.First > r.Last {
			continue
		}
		b := memplan.Buffer{Bytes: (r.Place.Bytes + unit - 1) / unit * unit, First: r.First, Last: r.Last}
		if r.First < 0 {
			b.First = between
			switch {
			case r.Last < 0:
				b.Last = between
			case r.Last == between && between > 0:
				b.Last = between - 1 // all the time
			}
		}
		roots = append(roots, i)
		buffers = append(buffers, b)
	}
	return roots, buffers
}

// place gives every root its memory. Variables have memory of their own; the others share the arena.
func place(p *Plan) error {
	for i := range p.Roots {
		p.Roots[i].Place.Space = region.Arena
		if p.Roots[i].Use == Variable {
			p.Roots[i].Place.Space = region.Variable
		}
	}
	roots, buffers := p.buffers(Align)
	l, err := memplan.Plan(buffers, memplan.Usual)
	if err != nil {
		return fmt.Errorf("plan %s: %w", p.Name, err)
	}
	for n, i := range roots {
		p.Roots[i].Place.Off = l.Offsets[n]
	}
	p.ArenaBytes = l.Bytes
	return nil
}

// LowerBound returns the bytes that the arena needs at least: the most that are live at one time.
func (p *Plan) LowerBound() int64 {
	_, buffers := p.buffers(1)
	return memplan.LowerBound(buffers)
}
