package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/sched"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// randomTiles returns a plan, not yet scheduled, of random steps that are cut into tiles: with windows,
// causal and reversed inputs, those that every tile reads whole, and work in place. Some steps are whole.
// Memory is reused as placing does it.
func randomTiles(r *rand.Rand, steps int) (p *plan.Plan, times []float64) {
	p = &plan.Plan{Format: plan.Format, Name: "tiles"}
	add := func(use plan.Use) region.Root {
		root := plan.Root{Name: fmt.Sprint("r", len(p.Roots)), Type: dtype.I32, Shape: []int{1 + r.IntN(7), 1 + r.IntN(4)}, Use: use}
		root.Place.Bytes = root.Operand().Bytes()
		p.Roots = append(p.Roots, root)
		return region.Root(len(p.Roots) - 1)
	}
	add(plan.Fed)
	for c := range 1 + r.IntN(steps) {
		x := region.Root(max(len(p.Roots)-1-r.IntN(3), 0))
		y, as := x, perm.ReadWrite
		if p.Roots[x].Use == plan.Fed || r.IntN(4) > 0 {
			y, as = add(plan.Internal), perm.Write
		}
		whole := func(x region.Root, as perm.Perm) region.Access {
			return region.Access{Region: region.Whole(x, p.Roots[x].Shape), Perm: as}
		}
		rows, columns := p.Roots[y].Shape[0], p.Roots[y].Shape[1]
		t := plan.Task{Call: c, Over: rows, Grain: 1 + r.IntN(rows), Access: []region.Access{whole(y, as)}}
		own := region.Footprint{region.Along(0, 1, 0, 1), {}}
		if r.IntN(2) == 0 { // two rows for each index
			t.Over = (rows-1)/2 + 1
			t.Grain, own[0] = 1+r.IntN(t.Over), region.Along(0, 2, 0, 2)
		}
		if r.IntN(2) == 0 {
			t.Inner, own[1] = []op.Axis{{Over: columns, Grain: 1 + r.IntN(columns)}}, region.Along(1, 1, 0, 1)
		}
		t.Access[0].Footprint = own
		if as == perm.Write {
			a := whole(x, perm.Read)
			a.Footprint = make(region.Footprint, 2)
			for d, n := range p.Roots[x].Shape {
				of := r.IntN(1 + len(t.Inner))
				a.Footprint[d] = [...]region.Span{
					{}, region.Along(of, 1, 0, 1), region.Along(of, 1+r.IntN(2), r.IntN(3)-1, 1+r.IntN(3)),
					region.Between(of, [2]int{}, [2]int{1, 1}), region.Between(of, [2]int{-1, n - 1}, [2]int{-1, n}),
				}[r.IntN(5)]
			}
			t.Access = append(t.Access, a)
		}
		p.Calls = append(p.Calls, plan.Call{Node: fmt.Sprint("n", c), Operator: "op", Task: "forward"})
		n := 1
		if g := t.Grid(); r.IntN(5) > 0 {
			n, t.Tile = g.Tiles(), 1
		}
		for range n {
			p.Tasks = append(p.Tasks, t)
			times = append(times, []float64{10, 1e3, 1e5}[r.IntN(3)]*(1+r.Float64()))
			t.Tile++
		}
	}
	last := region.Root(len(p.Roots) - 1)
	if p.Roots[last].Use == plan.Internal {
		p.Roots[last].Use = plan.Fetched
	}
	draft{p}.lifetimes([]region.Root{last})
	draft{p}.place()
	return p, times
}

// queue gives a plan queues that follow from its dependencies, whatever package verify says of its tasks.
func queue(p *plan.Plan) bool {
	times := slices.Repeat([]float64{1e3}, len(p.Tasks))
	ranges := make([]int, len(p.Tasks))
	for t := range ranges {
		ranges[t] = 1
	}
	s, err := sched.New(&p.Deps, p.Schedule.Workers(), sched.Costs{Time: times, Latency: 1, Ranges: ranges})
	if err != nil {
		return false
	}
	p.Schedule = *s
	return true
}

// depended gives a plan the dependencies and queues of its tasks.
func depended(p *plan.Plan) bool {
	draft{p}.lifetimes([]region.Root{region.Root(len(p.Roots) - 1)})
	g, err := draft{p}.depend()
	if err != nil {
		return false
	}
	p.Deps = *g
	return queue(p)
}

// tiled returns a function that changes a tile.
func tiled(change func(p *plan.Plan, t int, r *rand.Rand) bool) func(*plan.Plan, *rand.Rand) bool {
	return func(p *plan.Plan, r *rand.Rand) bool {
		var list []int
		for t := range p.Tasks {
			if p.Tasks[t].Tile > 0 {
				list = append(list, t)
			}
		}
		return len(list) > 0 && change(p, list[r.IntN(len(list))], r)
	}
}

// spans returns a function that changes a span of a footprint, of one tile or of all tiles of a step.
func spans(all bool, change func(s *region.Span, r *rand.Rand) bool) func(*plan.Plan, *rand.Rand) bool {
	return tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		access := r.IntN(len(p.Tasks[t].Access))
		axis := r.IntN(2)
		s := p.Tasks[t].Access[access].Footprint[axis]
		if s.Of == 0 || !change(&s, r) {
			return false
		}
		for u := range p.Tasks {
			if u == t || all && p.Tasks[u].Call == p.Tasks[t].Call {
				f := slices.Clone(p.Tasks[u].Access[access].Footprint)
				f[axis] = s
				p.Tasks[u].Access[access].Footprint = f
			}
		}
		return true
	})
}

// of returns the tasks of the call of a task.
func of(p *plan.Plan, t int) (list []int) {
	for u := range p.Tasks {
		if p.Tasks[u].Call == p.Tasks[t].Call {
			list = append(list, u)
		}
	}
	return list
}

// tileMutators break plans whose steps are cut into tiles.
var tileMutators = []mutator{
	{"box of a tile shrunk", false, spans(false, shrink)},
	{"boxes of a step shrunk", false, spans(true, shrink)},
	{"box of a tile grown", false, spans(false, grow)},
	{"boxes of a step grown", false, spans(true, grow)},
	{"box of a tile shifted", false, spans(false, shift)},
	{"boxes of a step shifted", false, spans(true, shift)},
	{"boxes of a step turned", false, spans(true, func(s *region.Span, _ *rand.Rand) bool {
		s.Scale, s.Grow = -s.Scale, -s.Grow
		return s.Scale != 0
	})},
	{"predecessor of a tile dropped", false, tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		from, to := p.Deps.Start[t], p.Deps.Start[t+1]
		if from == to {
			return false
		}
		at := int(from) + r.IntN(int(to-from))
		p.Deps.Pred = slices.Delete(p.Deps.Pred, at, at+1)
		for u := t + 1; u < len(p.Deps.Start); u++ {
			p.Deps.Start[u]--
		}
		return queue(p)
	})},
	{"numbers of tiles swapped", false, tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		list := of(p, t)
		u := list[r.IntN(len(list))]
		p.Tasks[t].Tile, p.Tasks[u].Tile = p.Tasks[u].Tile, p.Tasks[t].Tile
		return t != u
	})},
	{"tile in place of another", false, tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		list := of(p, t)
		u := list[r.IntN(len(list))]
		p.Tasks[t].Tile = p.Tasks[u].Tile
		return t != u
	})},
	{"tile lost", false, tiled(func(p *plan.Plan, t int, _ *rand.Rand) bool {
		if len(of(p, t)) < 2 {
			return false
		}
		p.Tasks = slices.Delete(p.Tasks, t, t+1)
		return depended(p)
	})},
	{"tile doubled", false, tiled(func(p *plan.Plan, t int, _ *rand.Rand) bool {
		p.Tasks = slices.Insert(p.Tasks, t, p.Tasks[t])
		return depended(p)
	})},
	{"tile and the whole of a step", false, tiled(func(p *plan.Plan, t int, _ *rand.Rand) bool {
		p.Tasks[t].Tile = 0
		return depended(p)
	})},
	{"extents of a tile changed", false, tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		return regrain(p, []int{t}, r)
	})},
	{"extents of all tiles changed", false, tiled(func(p *plan.Plan, t int, r *rand.Rand) bool {
		return regrain(p, of(p, t), r)
	})},
	{"axis of a grid lost", true, tiled(func(p *plan.Plan, t int, _ *rand.Rand) bool {
		was := len(p.Tasks[t].Inner)
		p.Tasks[t].Inner = nil
		return was > 0
	})},
}

func shrink(s *region.Span, r *rand.Rand) bool {
	if s.Size--; r.IntN(2) == 0 {
		s.Shift++
	}
	return s.Grow != 0 || s.Size > 0 // a span of a fixed size has one
}

func grow(s *region.Span, _ *rand.Rand) bool {
	s.Size++
	return true
}

func shift(s *region.Span, r *rand.Rand) bool {
	s.Shift += []int{-2, -1, 1, 2}[r.IntN(4)]
	return true
}

// regrain gives tiles other extents.
func regrain(p *plan.Plan, list []int, r *rand.Rand) bool {
	was := p.Tasks[list[0]].Grain
	grain := 1 + r.IntN(p.Tasks[list[0]].Over)
	for _, t := range list {
		p.Tasks[t].Grain = grain
	}
	return grain != was
}

// bruteTiles reports whether, of each step that is cut, each tile of one grid is one task.
func bruteTiles(p *plan.Plan) bool {
	seen := map[int][]plan.Task{} // by call
	for _, t := range p.Tasks {
		if t.Group == nil && t.Builtin == nil {
			seen[t.Call] = append(seen[t.Call], t)
		}
	}
	for _, list := range seen {
		if len(list) == 1 && list[0].Tile == 0 {
			continue
		}
		g := list[0].Grid()
		numbers := map[int]bool{}
		for _, t := range list {
			if other := t.Grid(); fmt.Sprint(other) != fmt.Sprint(g) || t.Tile < 1 || t.Tile > g.Tiles() {
				return false
			}
			numbers[t.Tile] = true
		}
		if len(list) != g.Tiles() || len(numbers) != g.Tiles() {
			return false
		}
	}
	return true
}

// bruteWritten reports whether each element that a task reads, or the caller, was written before: by the
// caller or by an earlier task. What scratch memory holds is lost.
func bruteWritten(p *plan.Plan) bool {
	written := make([]map[[2]int]bool, len(p.Roots))
	for i := range written {
		written[i] = map[[2]int]bool{}
	}
	known := func(root region.Root, e [2]int) bool {
		use := p.Roots[root].Use
		return use == plan.Fed || use == plan.Variable || written[root][e]
	}
	for t := range p.Tasks {
		for i, a := range p.Tasks[t].Access {
			for e := range bruteElements(&p.Tasks[t], i) {
				if (a.Perm.Reads() || a.Perm == perm.Reduce) && !known(a.Root, e) {
					return false
				}
			}
		}
		for i, a := range p.Tasks[t].Access {
			for e := range bruteElements(&p.Tasks[t], i) {
				switch {
				case a.Perm == perm.Scratch:
					delete(written[a.Root], e)
				case a.Perm.Writes():
					written[a.Root][e] = true
				}
			}
		}
	}
	for i := range p.Roots {
		if p.Roots[i].Use != plan.Fetched {
			continue
		}
		whole := plan.Task{Access: []region.Access{{Region: region.Whole(region.Root(i), p.Roots[i].Shape)}}}
		for e := range bruteElements(&whole, 0) {
			if !known(region.Root(i), e) {
				return false
			}
		}
	}
	return true
}

// bruteElements returns the elements of a root of one or two axes that a task touches by an access, as far as
// there are such elements.
func bruteElements(t *plan.Task, access int) map[[2]int]bool {
	out := map[[2]int]bool{}
	var box region.Box
	t.On(access, &box)
	lo, hi := append(slices.Clone(box.Lo), 0), append(slices.Clone(box.Hi), 1)
	for i := lo[0]; i < hi[0]; i++ {
		for j := lo[1]; j < hi[1]; j++ {
			out[[2]int{i, j}] = true
		}
	}
	return out
}
