package partition

import (
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// Dim is a dimension along which a task may be divided. Each leaf of a launch gets one part of the tensors
// that have the dimension.
type Dim struct {
	Name string
	// Axes maps the slots that have the dimension to the axis that it is.
	Axes map[string]int
	// Sums lists the slots without the dimension to which each leaf contributes a partial sum. Other slots
	// without the dimension are replicated: all leaves write the same.
	Sums []string
}

// SetDims sets the dimensions along which the task may be divided. Constraints may exclude some of them.
func (l *Launch) SetDims(dims []Dim) {
	l.dims, l.divisible, l.checker = dims, true, nil
}

// dimsKey returns the cache key of the dimensions.
func (l *Launch) dimsKey() []int {
	var key []int
	for i, d := range l.dims {
		for n, s := range l.Declaration.Slots() {
			if axis, ok := d.Axes[s.Name]; ok {
				key = append(key, i, n, axis)
			} else if slices.Contains(d.Sums, s.Name) {
				key = append(key, i, n, -1)
			}
		}
	}
	return key
}

// cut is a dimension of a launch that may be divided, and the number of its parts.
type cut struct {
	*Dim
	extent, degree int
	least          int // lower bound of the extent of a part
}

// moved returns the axis along which the tensors of a slot have the dimension, or -1.
func (c *cut) moved(l *Launch, slot int) int {
	if axis, ok := c.Axes[l.Declaration.Slots()[slot].Name]; ok {
		return axis
	}
	return -1
}

// cuts returns the dimensions that may be divided: all tensors have the same extent along the dimension, no
// broadcast excludes its axis, aligned stores are divided along the same axis, and no target of a dependent
// constraint is divided.
func (l *Launch) cuts(s *solver) []cut {
	var out []cut
	for i := range l.dims {
		c := cut{Dim: &l.dims[i], extent: -1, degree: 1}
		axes := map[*Store]int{}
		ok := true
		for slot, stores := range l.stores {
			axis := c.moved(l, slot)
			for _, x := range stores {
				if axis >= x.rank() || x.Unbound {
					ok = false
					continue
				}
				if other, again := axes[x]; again && other != axis {
					ok = false // one store in two slots
				}
				axes[x] = axis
				if axis < 0 {
					continue
				}
				if c.extent >= 0 && c.extent != x.Shape[axis] {
					ok = false
				}
				c.extent = x.Shape[axis]
				class := s.of[x]
				ok = ok && !class.broadcast[axis] && class.target == nil
				c.least = max(c.least, class.extents[axis])
			}
		}
		for x, axis := range axes {
			for _, y := range s.of[x].stores {
				ok = ok && axes[y] == axis
			}
		}
		if ok && c.extent > 1 {
			out = append(out, c)
		}
	}
	return out
}

// divide chooses the number of parts of each dimension. Dimensions with partial sums are divided only if no
// other dimension is.
func divide(cuts []cut, procs int) {
	if !spread(cuts, procs, false) {
		spread(cuts, procs, true)
	}
}

// spread divides the dimensions with partial sums, or those without. Each prime factor of the number of
// processors, in descending order, divides the dimension with the longest parts. It reports whether any
// dimension was divided.
func spread(cuts []cut, procs int, sums bool) bool {
	divided := false
	for _, f := range primeFactors(procs) {
		best := -1
		for i := range cuts {
			c := &cuts[i]
			n := c.degree * f
			tile := shape.CeilDiv(c.extent, n)
			if len(c.Sums) > 0 != sums || n > c.extent || smallest(c.extent, n, tile) < max(c.least, 1) {
				continue
			}
			if best < 0 || c.extent/c.degree > cuts[best].extent/cuts[best].degree {
				best = i
			}
		}
		if best >= 0 {
			cuts[best].degree *= f
			divided = true
		}
	}
	return divided
}

// solveDims partitions the stores of a launch along its dimensions.
func (l *Launch) solveDims(s *solver, args []argument) *Strategy {
	largest := 0
	for _, a := range args {
		largest = max(largest, shape.Prod(a.store.Shape))
	}
	var cuts []cut
	if s.machine.Procs > 1 && largest >= s.machine.Threshold && largest > 0 {
		cuts = l.cuts(s)
		divide(cuts, s.machine.Procs)
		cuts = slices.DeleteFunc(cuts, func(c cut) bool { return c.degree == 1 })
	}
	if len(cuts) == 0 {
		return newStrategy(nil, args, nil)
	}
	var domain []int
	for _, c := range cuts {
		domain = append(domain, c.degree)
	}
	parts := map[*Store]*StorePartition{}
	for slot, stores := range l.stores {
		for _, x := range stores {
			if parts[x] == nil && s.of[x].target == nil {
				parts[x] = s.partOf(l, slot, x, cuts, domain)
			}
		}
	}
	for _, a := range args {
		s.tilingOf(a.store) // computes the tilings of targets
	}
	out := newStrategy(domain, args, s.tilings)
	for i := range out.Stores {
		if p := parts[out.Stores[i].Store]; p != nil {
			out.Stores[i] = *p
		}
	}
	return out
}

// partOf returns the partition of a store among the leaves of a launch. It records the tiles, from which
// those of targets are derived.
func (s *solver) partOf(l *Launch, slot int, x *Store, cuts []cut, domain []int) *StorePartition {
	p := &StorePartition{Store: x, Partition: Undivided(x.Shape), Tile: slices.Clone(x.Shape)}
	sums, replicas := make([]bool, len(cuts)), make([]bool, len(cuts))
	name := l.Declaration.Slots()[slot].Name
	for i, c := range cuts {
		switch axis := c.moved(l, slot); {
		case axis >= 0:
			p.Degrees[axis] = c.degree
			p.Tile[axis] = shape.CeilDiv(c.extent, c.degree)
		case slices.Contains(c.Sums, name):
			sums[i], p.Sums = true, max(p.Sums, 1)*c.degree
		default:
			replicas[i], p.Replicas = true, max(p.Replicas, 1)*c.degree
		}
	}
	var boxes []unclipped
	at := make([]int, len(cuts))
	for leaf := range shape.Prod(domain) {
		rest := leaf
		for i := len(cuts) - 1; i >= 0; i-- {
			at[i], rest = rest%domain[i], rest/domain[i]
		}
		b := Box{Lo: make([]int, len(x.Shape)), Hi: slices.Clone(x.Shape)}
		tile, term, replica := make([]int, len(x.Shape)), 0, 0
		for i, c := range cuts {
			switch axis := c.moved(l, slot); {
			case axis >= 0:
				tile[axis] = at[i]
				b.Lo[axis], b.Hi[axis] = at[i]*p.Tile[axis], (at[i]+1)*p.Tile[axis]
			case sums[i]:
				term = term*c.degree + at[i]
			default:
				replica = replica*c.degree + at[i]
			}
		}
		part := 0
		for axis, k := range tile {
			part = part*p.Degrees[axis] + k
		}
		p.PartOf = append(p.PartOf, (term*max(p.Replicas, 1)+replica)*p.tiles()+part)
		boxes = append(boxes, b)
	}
	if p.tiles() > 1 {
		s.boxes[x] = boxes
		s.tilings[x] = tiling{tile: p.Tile, tiles: clip(boxes, x.Shape)}
	} else {
		p.Tile = nil
		s.tilings[x] = tiling{}
	}
	return p
}
