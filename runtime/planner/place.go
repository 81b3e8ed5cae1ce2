package planner

import (
	"fmt"

	"github.com/opgen/opgen/internal/base/memplan"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

func align(n int64) int64 { return (n + plan.Align - 1) / plan.Align * plan.Align }

// lifetimes computes First and Last of every root. A fetched root lives until the end.
func (p draft) lifetimes(fetched []region.Root) {
	for i := range p.Roots {
		p.Roots[i].First, p.Roots[i].Last = len(p.Tasks), -1
	}
	for i := range p.Tasks {
		for _, a := range p.Tasks[i].Access {
			r := &p.Roots[a.Root]
			r.First, r.Last = min(r.First, i), max(r.Last, i)
		}
	}
	for i := range p.Roots {
		if p.Roots[i].Use == plan.Fed {
			p.Roots[i].First = -1
		}
	}
	for _, r := range fetched {
		p.Roots[r].Last = len(p.Tasks)
	}
}

// buffers returns the roots in a device's part of the arena, and the aligned size and lifetime of each.
//
// Fetching and feeding are one more step between the last task and the first of the next run, so that inputs
// of the next run overwrite no result of the last one.
func (p draft) buffers(device int) (roots []int, buffers []memplan.Buffer) {
	between := len(p.Tasks)
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.Device != device || r.Use == plan.Variable || r.Place.Bytes == 0 || r.First > r.Last {
			continue
		}
		b := memplan.Buffer{Bytes: align(r.Place.Bytes), First: r.First, Last: r.Last}
		if r.First < 0 {
			b.First = between
			switch {
			case r.Last < 0:
				b.Last = between
			case r.Last == between && between > 0:
				b.Last = between - 1 // always live
			}
		}
		roots = append(roots, i)
		buffers = append(buffers, b)
	}
	return roots, buffers
}

// place assigns an offset to every root. Variables have memory of their own; other roots share the arena.
func (p draft) place() error {
	for i := range p.Roots {
		p.Roots[i].Place.Space = region.Arena
		if p.Roots[i].Use == plan.Variable {
			p.Roots[i].Place.Space = region.Variable
		}
	}
	placed := make([][]int, p.DeviceCount())
	var most int64
	for device := range placed {
		roots, buffers := p.buffers(device)
		l, err := memplan.Plan(buffers, memplan.DefaultEffort)
		if err != nil {
			return fmt.Errorf("plan %s: %w", p.Name, err)
		}
		for n, i := range roots {
			p.Roots[i].Place.Off = l.Offsets[n]
		}
		placed[device], most = roots, max(most, l.Bytes)
	}
	for device, roots := range placed {
		for _, i := range roots {
			p.Roots[i].Place.Off += int64(device) * most
		}
	}
	for i := range p.Roots {
		// Tensors without elements overlap nothing, but they lie in the memory of their device.
		if r := &p.Roots[i]; r.Use != plan.Variable && r.Place.Bytes == 0 {
			r.Place.Off = int64(r.Device) * most
		}
	}
	p.ArenaBytes = int64(len(placed)) * most
	return nil
}
