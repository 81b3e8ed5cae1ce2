package planner

import (
	"slices"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// nearBytes is what a worker has in the cache that is its own, about: half for what each tile touches, and
// half for what all tiles read.
const nearBytes = 1 << 20

// stage is a step in tiles, as a range of tasks.
type stage struct {
	first, end    int
	moving, whole int64 // bytes that its tiles touch, each its own, and that all of them read
}

// stages returns the steps in tiles that follow each other from a task on, as long as what all of their tiles
// read fits into the cache, and whether what they pass on does not.
func (p draft) stages(from int, near int64) (out []stage, large bool) {
	whole := int64(0)
	for from < len(p.Tasks) && p.Tasks[from].Tile == 1 {
		t := &p.Tasks[from]
		grid := t.Grid()
		s := stage{first: from, end: from + grid.Tiles()}
		if s.end > len(p.Tasks) || p.Tasks[s.end-1].Tile != s.end-from || p.Tasks[s.end-1].Call != t.Call || p.Tasks[s.end-1].Step != t.Step {
			break
		}
		s.moving, s.whole = traffic(p.Roots, t.Access)
		if whole += s.whole; whole > near/2 {
			break
		}
		large = large || s.moving > near
		out, from = append(out, s), s.end
	}
	return out, large
}

// traffic returns how many bytes of the accesses of a step its tiles touch, each its own, and how many all
// tiles touch.
func traffic(roots []plan.Root, access []region.Access) (moving, whole int64) {
	for i := range access {
		a := &access[i]
		if bytes := roots[a.Root].Place.Bytes; moves(a) {
			moving += bytes
		} else {
			whole += bytes
		}
	}
	return moving, whole
}

// moves reports whether tiles touch different elements by an access.
func moves(a *region.Access) bool {
	return slices.ContainsFunc(a.Footprint, func(s region.Span) bool { return s.Of > 0 })
}

// wavefront returns the order in which queues hold tasks: that of the plan, but for steps in tiles that pass
// more to each other than a cache holds. Of these, each tile of the last step comes as soon as what it needs
// is there, so that a worker finds in its cache what it wrote there. It returns nil if the order is that of
// the plan.
func (p draft) wavefront(g *schedule.Graph, near int64) []int32 {
	var order []int32
	var done []bool
	for t := 0; t < len(p.Tasks); {
		stages, large := p.stages(t, near)
		if len(stages) < 2 || !large {
			end := t + 1
			if len(stages) > 0 {
				end = stages[len(stages)-1].end
			}
			for ; t < end; t++ {
				if order != nil {
					order = append(order, int32(t))
				}
			}
			continue
		}
		if order == nil {
			order, done = make([]int32, t, len(p.Tasks)), make([]bool, len(p.Tasks))
			for i := range order {
				order[i] = int32(i)
			}
		}
		first := int32(t)
		var stack []int32
		for _, s := range slices.Backward(stages) {
			for last := s.first; last < s.end; last++ {
				stack = append(stack, int32(last))
				for len(stack) > 0 {
					top := stack[len(stack)-1]
					n := len(stack)
					if !done[top] {
						for _, v := range slices.Backward(g.Preds(int(top))) {
							if v >= first && !done[v] {
								stack = append(stack, v)
							}
						}
					}
					if len(stack) == n {
						if stack = stack[:n-1]; !done[top] {
							done[top], order = true, append(order, top)
						}
					}
				}
			}
		}
		t = stages[len(stages)-1].end
	}
	return order
}

// permuted returns a graph whose tasks are numbered in an order.
func permuted(g *schedule.Graph, order []int32) *schedule.Graph {
	number := make([]int32, len(order))
	for i, t := range order {
		number[t] = int32(i)
	}
	out := &schedule.Graph{Start: make([]int32, len(g.Start)), Pred: make([]int32, 0, len(g.Pred))}
	for i, t := range order {
		for _, v := range g.Preds(int(t)) {
			out.Pred = append(out.Pred, number[v])
		}
		out.Start[i+1] = int32(len(out.Pred))
	}
	return out
}

// renumber replaces the numbers of tasks in queues by those that they have in an order.
func renumber(s *schedule.Schedule, order []int32) {
	for _, q := range s.Queues {
		for i, op := range q {
			switch kind, n := op.Decode(); kind {
			case schedule.Run:
				q[i] = schedule.Op(order[n])
			case schedule.Share:
				q[i] = schedule.ShareOf(order[n])
			case schedule.WaitShared:
				q[i] = schedule.WaitSharedOf(order[n])
			}
		}
	}
	for i, t := range s.Shared {
		s.Shared[i] = order[t]
	}
	slices.Sort(s.Shared)
}
