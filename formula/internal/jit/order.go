//go:build amd64 || arm64

package jit

import "slices"

// step is one instruction: node for vector u of the unrolled body.
type step struct {
	node int32
	u    int
}

// order returns the steps of a body in the order in which they are generated. For AVX-512 that is the order
// of nodes: its registers suffice for enough vectors to hide latency. For other instruction sets, a list
// scheduler orders the steps.
func (c *compiler) order(w way) []step {
	var steps []step
	for i := range c.nodes {
		switch c.nodes[i].op {
		case opConstant, opScalar, opInput, opLanes:
			continue // they are loaded at their first use
		}
		for u := 0; c.live[i] && u < w.unroll; u++ {
			steps = append(steps, step{int32(i), u})
		}
	}
	if c.wide || w.unroll == 1 {
		return steps
	}
	return c.schedule(steps, c.vectors()-len(w.lanes)*accumulators/c.width())
}

// latency is the approximate latency of an operation, in cycles.
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

// scheduler is a bottom-up list scheduler: it chooses steps from the last to the first, so that values are
// computed close to their uses.
type scheduler struct {
	*compiler
	steps  []step
	values [][]int // by step: the values that it reads and other steps compute
	before [][]int // by step: its predecessors
	after  []int   // by step: the number of unscheduled successors
	path   []int   // by step: the length, in cycles, of the longest chain of steps that ends with it
	latest []int   // by step: the least distance of its start from the end of the body, in cycles
	inside []bool  // by value: whether it is live
	held   int     // number of live values
}

// stepsInTwoCycles is the assumed throughput. valuesInMemory is how many live values may exceed the registers
// before steps that reduce register pressure are preferred: a spill costs less than a stall.
const stepsInTwoCycles, valuesInMemory = 5, 4

// schedule returns the steps in an order that hides latency, for a number of vector registers.
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

// place is a class of memory accesses of vector u that may alias: those of all slices, or those of one number
// of accumulators.
type place struct{ u, lanes int }

// placeOf returns the alias class of a node's memory access. It returns false if the node accesses no memory.
func placeOf(d *node, u int) (place, bool) {
	switch d.op {
	case opInput, opStore:
		return place{u, none}, true
	case opLanes, opFold:
		return place{u, d.at}, true
	}
	return place{}, false
}

// linker builds the dependence graph of a body's steps.
type linker struct {
	*scheduler
	at      []int           // by value: the step that computes it
	stores  map[place]int   // the last store of each class
	readers map[place][]int // the accesses of each class since its last store
}

// link adds the dependences of steps through values and through memory.
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

// operand adds the dependence of step i on node o, whose vector u it reads.
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

// afterStore adds the dependence of step i on the last store of its alias class.
func (l *linker) afterStore(i int, p place) {
	if store, ok := l.stores[p]; ok {
		l.precede(store, i)
	}
}

// growth returns the change of the number of live values if step i is scheduled next, bottom-up.
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

// take schedules step i before the steps that are already scheduled.
func (s *scheduler) take(i int) {
	s.held += s.growth(i)
	s.inside[int(s.steps[i].node)*mostVectors+s.steps[i].u] = false
	for _, v := range s.values[i] {
		s.inside[v] = true
	}
}

// choose returns the index of the best of the ready steps. full says that register pressure decides first.
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
