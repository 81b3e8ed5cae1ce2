package partition

import (
	"cmp"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// class is an equivalence class of aligned stores, which have the same tiles.
type class struct {
	stores    []*Store // in order of declaration
	broadcast []bool   // axes that are not partitioned
	extents   []int    // minimum extent of a tile on each axis
	target    *pair    // the dependent constraint whose target the class is, or nil
	// The solver computes the number of tiles (colors) on each axis, and their size. A class without colors
	// is whole.
	colors []int
	tile   []int
}

// unclipped is a box before clipping to the store's shape.
type unclipped = Box

// tiling is the solved tiles of a store. The zero tiling is whole: every leaf gets the whole store.
type tiling struct {
	tile   []int     // size of a tile before clipping; nil for an image
	tiles  []Box     // by leaf, in row-major order; may be empty
	points [][][]int // by leaf: the sorted points of an exact image
}

type solver struct {
	machine Machine
	args    []argument
	classes []*class
	of      map[*Store]*class
	access  map[*Store]int // the strongest access: see below
	// tiles before clipping, of each store that is partitioned into boxes
	boxes   map[*Store][]unclipped
	tilings map[*Store]tiling
}

// Accesses in order of precedence.
const (
	reads = iota
	reduces
	writes
)

func newSolver(m Machine, args []argument, pairs []pair) *solver {
	s := &solver{machine: m, args: args, of: map[*Store]*class{}, access: map[*Store]int{},
		boxes: map[*Store][]unclipped{}, tilings: map[*Store]tiling{}}
	for _, a := range args {
		access := reads
		switch a.group {
		case Outputs:
			access = writes
		case Redops:
			access = reduces
		}
		s.access[a.store] = max(s.access[a.store], access)
		if s.of[a.store] == nil {
			n := a.store.rank()
			c := &class{stores: []*Store{a.store}, broadcast: make([]bool, n), extents: make([]int, n)}
			s.of[a.store] = c
			s.classes = append(s.classes, c)
		}
	}
	for i := range pairs {
		if kinds[pairs[i].c.Kind].Terms == AnyTerms {
			s.join(s.of[pairs[i].a.store], s.of[pairs[i].b.store])
		}
	}
	for i := range pairs {
		p := &pairs[i]
		switch k := &kinds[p.c.Kind]; k.Terms {
		case OneTerm:
			k.restrict(s.of[p.a.store], &p.c)
		case SourceTarget:
			s.of[p.b.store].target = p
		}
	}
	return s
}

// join merges class b into class a. Stores stay in order of declaration.
func (s *solver) join(a, b *class) {
	if a == b {
		return
	}
	a.stores = append(a.stores, b.stores...)
	order := func(x *Store) int {
		return slices.IndexFunc(s.args, func(arg argument) bool { return arg.store == x })
	}
	slices.SortFunc(a.stores, func(x, y *Store) int { return cmp.Compare(order(x), order(y)) })
	for _, x := range b.stores {
		s.of[x] = a
	}
	s.classes = slices.DeleteFunc(s.classes, func(c *class) bool { return c == b })
}

// solve computes the tiles of all stores, and returns the shape of the launch, or nil for a single task.
func (s *solver) solve() []int {
	for _, c := range s.classes {
		if c.target == nil && !c.stores[0].Unbound {
			s.partition(c)
		}
	}
	domain := s.domain()
	if domain == nil {
		return nil
	}
	for _, c := range s.classes {
		if c.target == nil {
			s.place(c)
		}
	}
	for _, a := range s.args {
		s.tilingOf(a.store)
	}
	return domain
}

// partition chooses the colors and the tile size of a class that is no target.
func (s *solver) partition(c *class) {
	key := c.stores[0]
	for _, x := range c.stores[1:] {
		if s.before(c, x, key) {
			key = x
		}
	}
	if s.usable(c, key) {
		c.tile = slices.Clone(key.Held.Tile)
		for d, e := range key.Shape {
			c.colors = append(c.colors, shape.CeilDiv(e, key.Held.Tile[d]))
		}
		return
	}
	colors := colorsOf(key.Shape, c.broadcast, s.machine)
	if colors == nil {
		return
	}
	tile := make([]int, len(colors))
	for d, e := range key.Shape {
		tile[d] = shape.CeilDiv(e, colors[d])
		if smallest(e, colors[d], tile[d]) < c.extents[d] {
			return // no other partition is tried: the class is whole
		}
	}
	c.colors, c.tile = colors, tile
}

// before reports whether store x takes precedence over y in the choice of the class's tiles: by size in
// bytes, then by a usable held partition, then by access.
func (s *solver) before(c *class, x, y *Store) bool {
	bytes := func(s *Store) int { return shape.Prod(s.Shape) * s.Element.Bytes }
	held := func(x *Store) int {
		if s.usable(c, x) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(bytes(x), bytes(y)), cmp.Compare(held(x), held(y)), cmp.Compare(s.access[x], s.access[y])) > 0
}

// usable reports whether the held partition of a store satisfies the class's constraints.
func (s *solver) usable(c *class, x *Store) bool {
	if x.Held == nil || x.Held.Pieces != s.machine.Procs || len(x.Held.Tile) != len(x.Shape) {
		return false
	}
	for d, e := range x.Shape {
		tile := x.Held.Tile[d]
		if tile < 1 {
			return false
		}
		colors := shape.CeilDiv(e, tile)
		if c.broadcast[d] && colors > 1 || smallest(e, colors, tile) < c.extents[d] {
			return false
		}
	}
	return true
}

// smallest returns the extent of the last tile on an axis.
func smallest(extent, colors, tile int) int { return max(0, extent-(colors-1)*tile) }

// colorsOf returns the number of tiles on each axis, or nil if the store is whole. Axes in broadcast are not
// partitioned.
func colorsOf(extents []int, broadcast []bool, m Machine) []int {
	volume := shape.Prod(extents)
	if m.Procs == 1 || volume == 0 || volume < m.Threshold {
		return nil
	}
	var axes []int
	for d, e := range extents {
		if !broadcast[d] && e > 1 {
			axes = append(axes, d)
		}
	}
	if len(axes) == 0 {
		return nil
	}
	colors := make([]int, len(extents))
	for d := range colors {
		colors[d] = 1
	}
	left := make([]int, len(axes))
	for i, d := range axes {
		left[i] = extents[d]
	}
	var on []int
	switch len(axes) {
	case 1:
		on = []int{min(left[0], m.Procs)}
	case 2:
		on = colors2(left, m.Procs)
	default:
		on = colorsN(left, m.Procs)
	}
	for i, d := range axes {
		colors[d] = on[i]
	}
	return colors
}

// colors2 factors procs over two axes so that tiles are about square.
func colors2(e []int, procs int) []int {
	if e[0]*e[1] < procs {
		return slices.Clone(e)
	}
	small, great := 0, 1
	if e[0] > e[1] {
		small, great = 1, 0
	}
	x, y := e[small], e[great]
	v := math.Sqrt(float64(procs) * float64(x) / float64(y))
	low := max(1, int(math.Floor(v+1e-12)))
	high := max(1, int(math.Floor(v-1e-12)))
	n1, n2 := 1, procs
	for k := 1; k <= procs; k++ {
		if procs%k != 0 {
			continue
		}
		if k <= low {
			n1 = k
		}
		if k >= high && k < n2 {
			n2 = k
		}
	}
	side := func(k int) int { return max(x/k, y/(procs/k)) }
	k := n2
	if side(n1) <= side(n2) {
		k = n1
	}
	out := make([]int, 2)
	out[small], out[great] = min(k, x), min(procs/k, y)
	return out
}

// colorsN partitions three or more axes. Each prime factor of the number of processors, in descending order,
// divides the axis with the longest tile. The last axis keeps at least 32 contiguous elements if another
// axis can be divided.
func colorsN(e []int, procs int) []int {
	colors := make([]int, len(e))
	for d := range colors {
		colors[d] = 1
	}
	longest := func(n int) (axis, length int) {
		axis = -1
		for d := range n {
			if r := shape.CeilDiv(e[d], colors[d]); axis < 0 || r > length {
				axis, length = d, r
			}
		}
		return axis, length
	}
	for _, f := range primeFactors(procs) {
		last := len(e) - 1
		axis, r := longest(len(e))
		if axis == last && r/f < 32 {
			if other, q := longest(last); q/f > 0 {
				axis = other
			}
		}
		colors[axis] *= f
	}
	return colors
}

// primeFactors returns the prime factors of n with multiplicity, in descending order.
func primeFactors(n int) []int {
	var out []int
	for f := 2; n > 1; f++ {
		if f*f > n {
			f = n
		}
		for n%f == 0 {
			out = append(out, f)
			n /= f
		}
	}
	slices.Reverse(out)
	return out
}

// domain returns the shape of the launch on which all classes agree, or nil for a single task.
func (s *solver) domain() []int {
	var offers [][]int
	rank := -1 // of unbound classes
	for _, c := range s.classes {
		if c.target != nil {
			continue
		}
		if c.stores[0].Unbound {
			n := 0
			for _, b := range c.broadcast {
				if !b {
					n++
				}
			}
			if rank >= 0 && rank != n {
				return nil
			}
			rank = n
			continue
		}
		if c.colors == nil {
			continue
		}
		var offer []int
		for d, n := range c.colors {
			if !c.broadcast[d] {
				offer = append(offer, n)
			}
		}
		offers = append(offers, offer)
	}
	if len(offers) == 0 {
		return nil
	}
	volume, same := shape.Prod(offers[0]), true
	for _, o := range offers[1:] {
		if shape.Prod(o) != volume {
			return nil
		}
		same = same && slices.Equal(o, offers[0])
	}
	if volume <= 1 {
		return nil
	}
	if same {
		if rank >= 0 && rank != len(offers[0]) {
			return nil
		}
		return offers[0]
	}
	if rank > 1 {
		return nil
	}
	return []int{volume}
}

// place computes the tiles of the stores of a partitioned class.
func (s *solver) place(c *class) {
	if c.colors == nil {
		return
	}
	boxes := make([]unclipped, 0, shape.Prod(c.colors))
	at := make([]int, len(c.colors))
	for range cap(boxes) {
		b := Box{Lo: make([]int, len(at)), Hi: make([]int, len(at))}
		for d, k := range at {
			b.Lo[d], b.Hi[d] = k*c.tile[d], (k+1)*c.tile[d]
		}
		boxes = append(boxes, b)
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < c.colors[d] {
				break
			}
			at[d] = 0
		}
	}
	for _, x := range c.stores {
		s.boxes[x] = boxes
		s.tilings[x] = tiling{tile: c.tile, tiles: clip(boxes, x.Shape)}
	}
}

func clip(boxes []unclipped, extents []int) []Box {
	out := make([]Box, len(boxes))
	for i, b := range boxes {
		out[i] = b.Clip(extents)
	}
	return out
}

// tilingOf returns the tiles of a store. The tiles of a target are derived from its source, recursively.
func (s *solver) tilingOf(x *Store) tiling {
	if t, ok := s.tilings[x]; ok {
		return t
	}
	var t tiling
	if c := s.of[x]; c.target != nil && slices.Contains(c.broadcast, false) {
		source := c.target.a.store
		from := s.tilingOf(source)
		switch derive := kinds[c.target.c.Kind].derive; {
		case from.tiles == nil && from.points == nil: // the source is whole
		case derive != nil:
			t = derive(c, x, source, from)
		default:
			t = s.boxwise(c, x, source, from)
		}
	}
	s.tilings[x] = t
	return t
}

// boxwise derives each tile of a target from the source's tile.
func (s *solver) boxwise(c *class, x, source *Store, from tiling) tiling {
	var boxes []unclipped
	tile := slices.Clone(from.tile)
	for _, b := range s.boxes[source] {
		to := Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
		for d := range to.Lo {
			if c.broadcast[d] {
				to.Lo[d], to.Hi[d] = 0, x.Shape[d]
			} else {
				to.Lo[d], to.Hi[d] = kinds[c.target.c.Kind].box(&c.target.c, d, b.Lo[d], b.Hi[d])
			}
			tile[d] = to.Hi[d] - to.Lo[d]
		}
		boxes = append(boxes, to)
	}
	s.boxes[x] = boxes
	return tiling{tile: tile, tiles: clip(boxes, x.Shape)}
}
