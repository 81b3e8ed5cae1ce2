package planner

import (
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// brute reports whether a plan's queues are right, in another way than package verify and only for small
// plans. It looks at all pairs of tasks, all elements and, for shared tasks, all choices of the workers that
// run them. It does not check what is independent of queues and places.
func brute(p *plan.Plan) bool {
	if !bruteMemory(p) || !bruteTiles(p) || !bruteWritten(p) {
		return false
	}
	W := p.Schedule.Workers()
	who := make([]int, len(p.Schedule.Shared)) // the worker that runs each shared task
	pairs := brutePairs(p)
	for {
		if !bruteOrder(p, who, pairs) {
			return false
		}
		k := 0
		for ; k < len(who); k++ {
			if who[k]++; who[k] < W {
				break
			}
			who[k] = 0
		}
		if k == len(who) {
			return true
		}
	}
}

// bruteMemory compares the bytes of all roots that are needed at the same time.
func bruteMemory(p *plan.Plan) bool {
	type span struct{ first, last int }
	lives := make([]span, len(p.Roots))
	for r := range p.Roots {
		lives[r] = span{len(p.Tasks), -1}
		for t := range p.Tasks {
			for _, a := range p.Tasks[t].Access {
				if int(a.Root) == r {
					lives[r].first, lives[r].last = min(lives[r].first, t), max(lives[r].last, t)
				}
			}
		}
		switch p.Roots[r].Use {
		case plan.Fed:
			lives[r].first = -1
		case plan.Fetched:
			lives[r].last = len(p.Tasks)
		}
	}
	for r := range p.Roots {
		a := p.Roots[r].Place
		if a.Space != region.Arena || lives[r].first > lives[r].last {
			continue
		}
		if a.Off < 0 || a.Off+a.Bytes > p.ArenaBytes {
			return false
		}
		for q := range r {
			b := p.Roots[q].Place
			if b.Space != region.Arena || lives[q].first > lives[q].last {
				continue
			}
			together := lives[r].first <= lives[q].last && lives[q].first <= lives[r].last ||
				p.Roots[r].Use == plan.Fed && p.Roots[q].Use == plan.Fetched || p.Roots[q].Use == plan.Fed && p.Roots[r].Use == plan.Fetched
			for i := a.Off; together && i < a.Off+a.Bytes; i++ {
				if b.Off <= i && i < b.Off+b.Bytes {
					return false
				}
			}
		}
	}
	return true
}

// shareBytes reports whether two parts of roots lie in a common byte.
func shareBytes(p *plan.Plan, a, b region.Region) bool {
	mine := bruteBytes(p, a)
	for at := range bruteBytes(p, b) {
		if mine[at] {
			return true
		}
	}
	return false
}

// bruteBytes returns the bytes of the arena in which a part of a root lies, one by one.
func bruteBytes(p *plan.Plan, a region.Region) map[int64]bool {
	out := map[int64]bool{}
	r := &p.Roots[a.Root]
	if r.Place.Space != region.Arena {
		return out
	}
	size := int64(r.Type.Size())
	for i := range r.Place.Bytes / size {
		inside, left := true, int(i)
		for d := len(r.Shape) - 1; d >= 0; d-- {
			k := left % r.Shape[d]
			inside, left = inside && a.Lo[d] <= k && k < a.Hi[d], left/r.Shape[d]
		}
		for b := range size {
			if inside {
				out[r.Place.Off+i*size+b] = true
			}
		}
	}
	return out
}

// brutePairs returns the pairs of tasks of which the first must be over before the second begins.
func brutePairs(p *plan.Plan) [][2]int {
	type touch struct {
		region.Access
		box      region.Region
		elements map[[2]int]bool
	}
	all := make([][]touch, len(p.Tasks))
	for t := range all {
		for i, a := range p.Tasks[t].Access {
			x := touch{a, region.Region{Root: a.Root}, bruteElements(&p.Tasks[t], i)}
			p.Tasks[t].On(i, &x.box.Box)
			all[t] = append(all[t], x)
		}
	}
	must := func(a, b touch) bool {
		switch {
		case a.Perm == perm.None || b.Perm == perm.None || a.box.Empty() || b.box.Empty():
			return false
		case a.Root != b.Root:
			return p.Roots[a.Root].Place.Overlaps(p.Roots[b.Root].Place) && shareBytes(p, a.box, b.box)
		case a.Perm == perm.Read && b.Perm == perm.Read:
			return false
		}
		for e := range a.elements {
			if b.elements[e] {
				return true
			}
		}
		return false
	}
	var pairs [][2]int
	for t := range p.Tasks {
		for s := range t {
			found := false
			for _, e := range p.Tasks[t].After {
				found = found || e == s
			}
			for _, a := range all[s] {
				for _, b := range all[t] {
					found = found || must(a, b)
				}
			}
			if found {
				pairs = append(pairs, [2]int{s, t})
			}
		}
	}
	return pairs
}

// bruteOrder reports whether every queue comes to its end and every pair is ordered if the workers in who run
// the shared tasks: it follows all paths through a graph of all entries of all queues.
func bruteOrder(p *plan.Plan, who []int, pairs [][2]int) bool {
	s := &p.Schedule
	base := make([]int, s.Workers()+1)
	for w, q := range s.Queues {
		base[w+1] = base[w] + len(q)
	}
	n := base[s.Workers()]
	next := make([][]int, n)
	entry := make([]int, len(p.Tasks)) // the entry that does each task
	done := map[int]int{}              // the entry that does a shared task
	for w, q := range s.Queues {
		for i, op := range q {
			if i > 0 {
				next[base[w]+i-1] = append(next[base[w]+i-1], base[w]+i)
			}
			switch kind, k := op.Decode(); kind {
			case schedule.Run:
				entry[k] = base[w] + i
			case schedule.Share:
				for j, t := range s.Shared {
					if int(t) == k && who[j] == w {
						entry[k] = base[w] + i
						done[k] = base[w] + i
					}
				}
			}
		}
	}
	for w, q := range s.Queues {
		for i, op := range q {
			switch kind, k := op.Decode(); kind {
			case schedule.WaitShared:
				next[done[k]] = append(next[done[k]], base[w]+i)
			case schedule.WaitFor:
				wait := s.Waits[k]
				from := -1
				for j, other := range s.Queues[wait.Worker] {
					if kind, _ := other.Decode(); kind == schedule.Signal && j+1 >= int(wait.Position) {
						from = base[wait.Worker] + j
						break
					}
				}
				switch {
				case wait.Position <= 0:
				case from < 0:
					return false
				default:
					next[from] = append(next[from], base[w]+i)
				}
			}
		}
	}
	reach := make([][]bool, n)
	for i := range n {
		reach[i] = make([]bool, n)
		pending := append([]int{}, next[i]...)
		for len(pending) > 0 {
			j := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if !reach[i][j] {
				reach[i][j] = true
				pending = append(pending, next[j]...)
			}
		}
		if reach[i][i] {
			return false
		}
	}
	for _, pair := range pairs {
		if !reach[entry[pair[0]]][entry[pair[1]]] {
			return false
		}
	}
	return true
}

// tilePairs is brutePairs for tensors of any rank: the pairs of tasks, in the order of the second, of which
// one writes an element or a byte that the other one accesses. Bytes are bits of a set.
func tilePairs(p *plan.Plan) [][2]int {
	type touch struct {
		region.Region
		perm  perm.Perm
		bytes []uint64 // of the arena, once they are asked for
	}
	bytes := func(x *touch) []uint64 {
		if x.bytes == nil {
			x.bytes = make([]uint64, p.ArenaBytes/64+1)
			for at := range bruteBytes(p, x.Region) {
				x.bytes[at/64] |= 1 << (at % 64)
			}
		}
		return x.bytes
	}
	var all [][]*touch
	var pairs [][2]int
	for t := range p.Tasks {
		var mine []*touch
		for i, a := range p.Tasks[t].Access {
			var box region.Box
			if p.Tasks[t].On(i, &box); a.Perm != perm.None && box.Volume() > 0 {
				mine = append(mine, &touch{Region: region.Region{Root: a.Root, Box: box}, perm: a.Perm})
			}
		}
		must := func(s int) bool {
			for _, a := range mine {
				for _, b := range all[s] {
					if a.Root == b.Root {
						if (a.perm != perm.Read || b.perm != perm.Read) && a.Intersect(b.Box).Volume() > 0 {
							return true
						}
						continue
					}
					if !p.Roots[a.Root].Place.Overlaps(p.Roots[b.Root].Place) {
						continue
					}
					x, y := bytes(a), bytes(b)
					for i := range x {
						if x[i]&y[i] != 0 {
							return true
						}
					}
				}
			}
			return false
		}
		for s := range t {
			if must(s) {
				pairs = append(pairs, [2]int{s, t})
			}
		}
		all = append(all, mine)
	}
	return pairs
}

// TestPredecessorsAreNeeded compares the predecessors in random plans with what brutePairs finds element by
// element and byte by byte: none is there without a conflict, so no task waits for nothing.
func TestPredecessorsAreNeeded(t *testing.T) {
	t.Parallel()
	edges := 0
	for seed := range uint64(1000) {
		p, times := randomPlan(rand.New(rand.NewPCG(seed, 11)), 20)
		p, err := Reschedule(p, Workers(2), Times(times))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		needed := map[[2]int]bool{}
		for _, pair := range brutePairs(p) {
			needed[pair] = true
		}
		for b := range p.Tasks {
			for _, a := range p.Deps.Preds(b) {
				if edges++; !needed[[2]int{int(a), b}] {
					t.Errorf("seed %d: %s waits for %s, want no order, since nothing is common", seed, p.Label(b), p.Label(int(a)))
				}
			}
		}
	}
	if edges < 1000 {
		t.Errorf("got %d predecessors in all, want 1000 and more", edges)
	}
}
