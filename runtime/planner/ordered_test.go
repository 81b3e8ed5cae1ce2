package planner

import (
	"fmt"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// set is a set of numbers.
type set []uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) join(t set) {
	for i := range s {
		s[i] |= t[i]
	}
}
func (s set) meet(t set) {
	for i := range s {
		s[i] &= t[i]
	}
}
func (s set) clone() set { return append(set{}, s...) }

// ordered returns an error unless a plan's queues and places are right. It does so in another way than
// package verify: for every entry of every queue it lists all entries that are over before, whatever workers
// do, and then it looks at all pairs of accesses of all tasks. Unlike brute, it also takes large plans.
func ordered(p *plan.Plan) error {
	over, err := overBefore(p)
	if err != nil {
		return err
	}
	n := len(p.Tasks)
	first, last := make([]int, len(p.Roots)), make([]int, len(p.Roots))
	for r := range p.Roots {
		first[r], last[r] = n, -1
		if p.Roots[r].Use == plan.Fed {
			first[r] = -1
		}
		if p.Roots[r].Use == plan.Fetched || p.Roots[r].Use == plan.Fed && p.Roots[r].Last == n {
			last[r] = n
		}
	}
	for t := range p.Tasks {
		for _, a := range p.Tasks[t].Access {
			first[a.Root], last[a.Root] = min(first[a.Root], t), max(last[a.Root], t)
		}
	}
	share := func(a, b region.Root) bool {
		return first[a] <= last[a] && first[b] <= last[b] && p.Roots[a].Place.Overlaps(p.Roots[b].Place)
	}
	for a := range p.Roots {
		if pl := p.Roots[a].Place; pl.Space == region.Arena && first[a] <= last[a] && (pl.Off < 0 || pl.Off+pl.Bytes > p.ArenaBytes) {
			return fmt.Errorf("%s lies outside of the arena", p.Roots[a].Name)
		}
		for b := range a {
			together := first[a] <= last[b] && first[b] <= last[a] || first[a] < 0 && last[b] == n || first[b] < 0 && last[a] == n
			if together && share(region.Root(a), region.Root(b)) {
				return fmt.Errorf("%s and %s are needed together and share memory", p.Roots[a].Name, p.Roots[b].Name)
			}
		}
	}
	must := func(s, i, t, k int) bool {
		a, b := &p.Tasks[s].Access[i], &p.Tasks[t].Access[k]
		var on, other region.Box
		p.Tasks[s].On(i, &on)
		p.Tasks[t].On(k, &other)
		if a.Perm == perm.None || b.Perm == perm.None || on.Volume() == 0 || other.Volume() == 0 {
			return false
		}
		if a.Root != b.Root {
			return share(a.Root, b.Root) && shareBytes(p, region.Region{Root: a.Root, Box: on}, region.Region{Root: b.Root, Box: other})
		}
		return (a.Perm != perm.Read || b.Perm != perm.Read) && on.Intersect(other).Volume() > 0
	}
	for t := range p.Tasks {
		for s := range t {
			for i := range p.Tasks[s].Access {
				for k := range p.Tasks[t].Access {
					if !over(s, t) && must(s, i, t, k) {
						return fmt.Errorf("%s need not be over before %s begins", p.Label(s), p.Label(t))
					}
				}
			}
		}
		for _, s := range p.Tasks[t].After {
			if !over(s, t) {
				return fmt.Errorf("%s need not be over before %s begins, which is asked for", p.Label(s), p.Label(t))
			}
		}
	}
	return nil
}

// overBefore returns a function that says whether a task is over whenever another begins. The number of an
// entry is that of its worker's first entry plus its place. The numbers behind those of all entries stand for
// shared tasks of which all ranges are over.
func overBefore(p *plan.Plan) (func(s, t int) bool, error) {
	s := &p.Schedule
	base := []int{0}
	for _, q := range s.Queues {
		base = append(base, base[len(base)-1]+len(q))
	}
	entries := base[len(s.Queues)]
	slot := map[int]int{}
	for k, t := range s.Shared {
		slot[int(t)] = k
	}
	at := make([][]int, len(p.Tasks)) // the entries that run each task
	before := make([]set, entries)
	next := make([]int, len(s.Queues))
	empty := func() set { return make(set, (entries+len(s.Shared))/64+1) }
	// settle adds the shared tasks that all workers have passed.
	settle := func(x set) {
		for k, t := range s.Shared {
			all := len(at[t]) == len(s.Queues)
			for _, e := range at[t] {
				all = all && x.has(e)
			}
			if all {
				x.add(entries + k)
			}
		}
	}
	step := func(w int) bool {
		i := next[w]
		x := empty()
		if i > 0 {
			x = before[base[w]+i-1].clone()
			x.add(base[w] + i - 1)
		}
		kind, k := s.Queues[w][i].Decode()
		switch kind {
		case schedule.Run, schedule.Share:
			at[k] = append(at[k], base[w]+i)
		case schedule.WaitFor:
			v := s.Waits[k]
			if v.Position > 0 {
				from := -1
				for j := range next[v.Worker] {
					if kind, _ := s.Queues[v.Worker][j].Decode(); kind == schedule.Signal && j+1 >= int(v.Position) {
						from = base[v.Worker] + j
						break
					}
				}
				if from < 0 {
					return false
				}
				x.join(before[from])
				x.add(from)
			}
		case schedule.WaitShared:
			if len(at[k]) < len(s.Queues) {
				return false
			}
			all := before[at[k][0]].clone()
			for _, e := range at[k][1:] {
				all.meet(before[e])
			}
			x.join(all)
			x.add(entries + slot[k])
		}
		settle(x)
		before[base[w]+i] = x
		next[w]++
		return true
	}
	for moved := true; moved; {
		moved = false
		for w := range s.Queues {
			for next[w] < len(s.Queues[w]) && step(w) {
				moved = true
			}
		}
	}
	for w := range s.Queues {
		if next[w] < len(s.Queues[w]) {
			return nil, fmt.Errorf("the queue of worker %d stops at %d", w, next[w])
		}
	}
	shared := map[int]bool{}
	for _, t := range s.Shared {
		shared[int(t)] = true
	}
	for t := range p.Tasks {
		if want := 1; !shared[t] && len(at[t]) != want || shared[t] && len(at[t]) != len(s.Queues) {
			return nil, fmt.Errorf("%s stands in the queues %d times", p.Label(t), len(at[t]))
		}
	}
	return func(a, b int) bool {
		e := at[a][0]
		if shared[a] {
			e = entries + slot[a]
		}
		for _, begin := range at[b] {
			if !before[begin].has(e) {
				return false
			}
		}
		return true
	}, nil
}
