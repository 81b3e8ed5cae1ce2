package jit

import "slices"

// step is the instruction of a node for one vector.
type step struct {
	node int32
	u    int
}

// order returns the instructions of a body in their order. Those of AVX-512 are in the order of the nodes:
// their registers suffice for as many vectors side by side as latency takes.
func (c *compiler) order(w way) []step {
	var steps []step
	for i := range c.nodes {
		switch c.nodes[i].op {
		case opConstant, opScalar, opInput, opLanes:
			continue // they are loaded when they are used first
		}
		for u := 0; c.live[i] && u < w.unroll; u++ {
			steps = append(steps, step{int32(i), u})
		}
	}
	if c.wide || w.unroll == 1 {
		return steps
	}
	return c.schedule(steps, 16-len(w.lanes)*accumulators/c.width())
}

// latency is about how many cycles pass until the result of an operation is there.
func latency(op opcode) int {
	switch op {
	case opAdd, opSub, opRound, opCompare:
		return 3
	case opMul, opMulAdd, opMulSubFrom:
		return 4
	case opDiv:
		return 11
	case opSqrt:
		return 15
	}
	return 1
}

// scheduler chooses the order of steps by list scheduling, from the last step to the first, so that a value
// is computed not long before its use.
type scheduler struct {
	*compiler
	steps  []step
	values [][]int // the operands of a step that other steps compute
	before [][]int // the steps that must precede a step
	after  []int   // how many steps that must follow a step are left
	path   []int   // how long it takes from the first step that a step needs to its end
	latest []int   // how long before the end of the body a step must end
	inside []bool  // the values that are in registers, by number
	held   int     // how many they are
}

// Parameters of the order: how many steps begin in two cycles, and how many values more than registers may be
// there before steps that free registers come first. A value that is kept in memory meanwhile takes less time
// than a wait for another one.
const stepsInTwoCycles, valuesInMemory = 5, 4

// schedule returns steps in an order in which few wait for others. Registers are how many there are.
func (c *compiler) schedule(steps []step, registers int) []step {
	n := len(steps)
	s := &scheduler{compiler: c, steps: steps, values: make([][]int, n), before: make([][]int, n), after: make([]int, n), path: make([]int, n),
		latest: make([]int, n), inside: make([]bool, mostVectors*len(c.nodes))}
	s.link()
	for i := range steps {
		for _, j := range s.before[i] {
			s.path[i] = max(s.path[i], s.path[j])
		}
		s.path[i] += latency(c.nodes[steps[i].node].op)
	}
	var ready []int
	for i := range steps {
		if s.after[i] == 0 {
			ready = append(ready, i)
		}
	}
	out := make([]step, n)
	for k := n - 1; k >= 0; k-- {
		now := (n - 1 - k) * 2 / stepsInTwoCycles
		best := s.choose(ready, now, s.held >= registers+valuesInMemory)
		i := ready[best]
		ready = slices.Delete(ready, best, best+1)
		out[k] = steps[i]
		s.take(i)
		start := max(now, s.latest[i])
		for _, j := range s.before[i] {
			s.latest[j] = max(s.latest[j], start+latency(c.nodes[steps[j].node].op))
			if s.after[j]--; s.after[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	return out
}

// place is memory that the steps of a vector use: slices, of which two may be the same, or the accumulators
// with a number.
type place struct{ u, lanes int }

// placeOf returns which memory a node uses, and false if it uses none.
func placeOf(d *node, u int) (place, bool) {
	switch d.op {
	case opInput, opStore:
		return place{u, none}, true
	case opLanes, opFold:
		return place{u, d.at}, true
	}
	return place{}, false
}

// linker notes which steps must precede others.
type linker struct {
	*scheduler
	at      []int           // the steps that give values, by number
	stores  map[place]int   // the last steps that write memory
	readers map[place][]int // the steps that use memory since then
}

// link notes which steps must precede others: those that give operands, and those that use or write the same
// memory before.
func (s *scheduler) link() {
	l := &linker{s, make([]int, len(s.inside)), map[place]int{}, map[place][]int{}}
	for i, t := range s.steps {
		d := &s.nodes[t.node]
		for _, o := range d.operands() {
			if o != none {
				l.operand(i, o, t.u)
			}
		}
		if d.gives() {
			l.at[int(t.node)*mostVectors+t.u] = i
			continue
		}
		p, uses := placeOf(d, t.u)
		if !uses {
			continue
		}
		l.afterStore(i, p)
		for _, r := range l.readers[p] {
			if r != i {
				l.precede(r, i)
			}
		}
		l.stores[p], l.readers[p] = i, nil
	}
}

// operand notes that a step uses a node.
func (l *linker) operand(i int, o int32, u int) {
	d := &l.nodes[o]
	if p, ok := placeOf(d, u); ok {
		l.afterStore(i, p)
		l.readers[p] = append(l.readers[p], i)
		return
	}
	if d.op == opConstant || d.op == opScalar {
		return
	}
	v := int(o)*mostVectors + u
	l.precede(l.at[v], i)
	if !slices.Contains(l.values[i], v) {
		l.values[i] = append(l.values[i], v)
	}
}

func (l *linker) precede(i, j int) {
	l.before[j] = append(l.before[j], i)
	l.after[i]++
}

// afterStore notes that a step must follow the last one that wrote memory.
func (l *linker) afterStore(i int, p place) {
	if store, ok := l.stores[p]; ok {
		l.precede(store, i)
	}
}

// growth returns how many more registers are in use before a step than after it.
func (s *scheduler) growth(i int) int {
	n := 0
	for _, v := range s.values[i] {
		if !s.inside[v] {
			n++
		}
	}
	if s.nodes[s.steps[i].node].gives() {
		n--
	}
	return n
}

// take notes that a step precedes those that were chosen before.
func (s *scheduler) take(i int) {
	s.held += s.growth(i)
	s.inside[int(s.steps[i].node)*mostVectors+s.steps[i].u] = false
	for _, v := range s.values[i] {
		s.inside[v] = true
	}
}

// choose returns which of the steps that may be next is the best one.
func (s *scheduler) choose(ready []int, now int, full bool) int {
	best := 0
	for k := 1; k < len(ready); k++ {
		if s.better(ready[k], ready[best], now, full) {
			best = k
		}
	}
	return best
}

func (s *scheduler) better(i, j, now int, full bool) bool {
	if full {
		if x, y := s.growth(i), s.growth(j); x != y {
			return x < y
		}
	}
	if x, y := max(now, s.latest[i]), max(now, s.latest[j]); x != y {
		return x < y
	}
	if s.path[i] != s.path[j] {
		return s.path[i] > s.path[j]
	}
	return i > j
}
