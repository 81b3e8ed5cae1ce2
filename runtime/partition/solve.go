package partition

import (
	"cmp"
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/shape"
)

// class is a set of aligned stores, which are divided alike.
type class struct {
	stores    []*Store // in order of declaration
	broadcast []bool   // axes that are not divided
	extents   []int    // the least extent of a tile on each axis
	target    *pair    // the constraint that derives its tiles, or nil
	// What solve finds: colours and tile; nil colours mean that the class is whole.
	colours []int
	tile    []int
}

// unclipped is a box before clipping to the store's shape.
type unclipped = Box

type solver struct {
	launch  *Launch
	machine Machine
	args    []argument
	classes []*class
	of      map[*Store]*class
	access  map[*Store]int // write before reduce before read
	// tiles before clipping, for each store that is divided into boxes
	boxes map[*Store][]unclipped
	parts map[*Store]Division
}

// Accesses in order of precedence.
const (
	reads = iota
	reduces
	writes
)

func newSolver(l *Launch, m Machine, args []argument, pairs []pair) *solver {
	s := &solver{launch: l, machine: m, args: args, of: map[*Store]*class{}, access: map[*Store]int{}, boxes: map[*Store][]unclipped{}, parts: map[*Store]Division{}}
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
		if pairs[i].c.Kind == Align {
			s.join(s.of[pairs[i].a.store], s.of[pairs[i].b.store])
		}
	}
	for i := range pairs {
		p := &pairs[i]
		c := s.of[p.a.store]
		switch {
		case p.c.Kind == Broadcast && p.c.Axes == nil:
			for d := range c.broadcast {
				c.broadcast[d] = true
			}
		case p.c.Kind == Broadcast:
			for _, d := range p.c.Axes {
				c.broadcast[d] = true
			}
		case p.c.Kind == MinExtents:
			for d, e := range p.c.Extents {
				c.extents[d] = max(c.extents[d], e)
			}
		case p.c.Kind.Dependent():
			s.of[p.b.store].target = p
		}
	}
	return s
}

// join makes one class of two. The stores stay in order of declaration.
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

func (s *solver) solve() *Partition {
	for _, c := range s.classes {
		if c.target == nil && !c.stores[0].Unbound {
			s.divide(c)
		}
	}
	domain := s.domain()
	p := &Partition{Domain: domain}
	if domain == nil {
		for _, a := range s.args {
			p.add(a.store, Division{Whole: !a.store.Unbound, Unbound: a.store.Unbound})
		}
		return p
	}
	for _, c := range s.classes {
		if c.target == nil {
			s.place(c)
		}
	}
	for _, a := range s.args {
		p.add(a.store, s.division(a.store))
	}
	return p
}

// divide chooses the colours and the tile of a class that is no target.
func (s *solver) divide(c *class) {
	key := c.stores[0]
	for _, x := range c.stores[1:] {
		if s.before(c, x, key) {
			key = x
		}
	}
	if s.usable(c, key) {
		c.tile = slices.Clone(key.Held.Tile)
		for d, e := range key.Shape {
			c.colours = append(c.colours, shape.CeilDiv(e, key.Held.Tile[d]))
		}
		return
	}
	colours := Colours(key.Shape, c.broadcast, s.machine)
	if colours == nil {
		return
	}
	tile := make([]int, len(colours))
	for d, e := range key.Shape {
		tile[d] = shape.CeilDiv(e, colours[d])
		if smallest(e, colours[d], tile[d]) < c.extents[d] {
			return // the class is whole; there is no second try
		}
	}
	c.colours, c.tile = colours, tile
}

// before reports whether a class is divided after x rather than y: the greater in bytes, then one with
// a partition that can be used, then the one with the stronger access.
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

// usable reports whether a store's existing partition fits the class.
func (s *solver) usable(c *class, x *Store) bool {
	if x.Held == nil || x.Held.Pieces != s.machine.Procs || len(x.Held.Tile) != len(x.Shape) {
		return false
	}
	for d, e := range x.Shape {
		tile := x.Held.Tile[d]
		if tile < 1 {
			return false
		}
		colours := shape.CeilDiv(e, tile)
		if c.broadcast[d] && colours > 1 || smallest(e, colours, tile) < c.extents[d] {
			return false
		}
	}
	return true
}

// smallest returns the extent of the last tile of an axis.
func smallest(extent, colours, tile int) int { return max(0, extent-(colours-1)*tile) }

// Colours returns into how many tiles each axis of a store is divided, or nil if it is not divided at
// all. Axes that broadcast marks are not divided.
func Colours(extents []int, broadcast []bool, m Machine) []int {
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
	colours := make([]int, len(extents))
	for d := range colours {
		colours[d] = 1
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
		on = colours2(left, m.Procs)
	default:
		on = coloursN(left, m.Procs)
	}
	for i, d := range axes {
		colours[d] = on[i]
	}
	return colours
}

// colours2 divides two axes so that tiles are about square and the colours divide the processors.
func colours2(e []int, procs int) []int {
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

// coloursN divides three or more axes: prime factors of the processors, greatest first, each go to
// the axis with the longest tile. The last axis keeps runs of 32.
func coloursN(e []int, procs int) []int {
	colours := make([]int, len(e))
	for d := range colours {
		colours[d] = 1
	}
	longest := func(n int) (axis, length int) {
		axis = -1
		for d := range n {
			if r := shape.CeilDiv(e[d], colours[d]); axis < 0 || r > length {
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
		colours[axis] *= f
	}
	return colours
}

// primeFactors returns the prime factors of n with repetition, greatest first.
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

// domain returns the shape of the launch, nil for a single task.
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
		if c.colours == nil {
			continue
		}
		var offer []int
		for d, n := range c.colours {
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

// place gives the stores of a divided class their tiles.
func (s *solver) place(c *class) {
	if c.colours == nil {
		return
	}
	boxes := make([]unclipped, 0, shape.Prod(c.colours))
	at := make([]int, len(c.colours))
	for range cap(boxes) {
		b := Box{Lo: make([]int, len(at)), Hi: make([]int, len(at))}
		for d, k := range at {
			b.Lo[d], b.Hi[d] = k*c.tile[d], (k+1)*c.tile[d]
		}
		boxes = append(boxes, b)
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < c.colours[d] {
				break
			}
			at[d] = 0
		}
	}
	for _, x := range c.stores {
		s.boxes[x] = boxes
		s.parts[x] = Division{Tile: c.tile, Tiles: clip(boxes, x.Shape)}
	}
}

func clip(boxes []unclipped, extents []int) []Box {
	out := make([]Box, len(boxes))
	for i, b := range boxes {
		out[i] = b.Clip(extents)
	}
	return out
}

// division returns how a store is divided, which for a target follows from its source.
func (s *solver) division(x *Store) Division {
	if d, ok := s.parts[x]; ok {
		return d
	}
	c := s.of[x]
	d := Division{Whole: !x.Unbound, Unbound: x.Unbound}
	if c.target != nil && slices.Contains(c.broadcast, false) {
		source := c.target.a.store
		if from := s.division(source); !from.Whole {
			d = s.derive(c, x, source, from)
		}
	}
	s.parts[x] = d
	return d
}

// derive divides a target after its source.
func (s *solver) derive(c *class, x, source *Store, from Division) Division {
	if c.target.c.Kind == Image {
		return image(c, x, source, from)
	}
	var boxes []unclipped
	tile := slices.Clone(from.Tile)
	for _, b := range s.boxes[source] {
		grown := Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
		for d := range grown.Lo {
			switch {
			case c.broadcast[d]:
				grown.Lo[d], grown.Hi[d] = 0, x.Shape[d]
			case c.target.c.Kind == Scale:
				f := c.target.c.Factors[d]
				grown.Lo[d], grown.Hi[d] = grown.Lo[d]*f, grown.Hi[d]*f
			default:
				grown.Lo[d], grown.Hi[d] = grown.Lo[d]-c.target.c.Low[d], grown.Hi[d]+c.target.c.High[d]
			}
			tile[d] = grown.Hi[d] - grown.Lo[d]
		}
		boxes = append(boxes, grown)
	}
	s.boxes[x] = boxes
	return Division{Tile: tile, Tiles: clip(boxes, x.Shape)}
}
