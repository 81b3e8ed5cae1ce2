package project_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

var (
	mutants    = flag.Int("part-mutants", 1000, "number of mutants of parts that TestMutants judges")
	mutantSeed = flag.Uint64("part-seed", 0, "which random plans and mutants of their parts TestMutants judges")
)

// values are what roots hold: a number for each index of the first dimension that has several.
type values [][]uint64

// cut returns the dimension along which values of a root of a shape are, and how many they are.
func cut(shape []int) (dim, n int) {
	for dim < len(shape)-1 && shape[dim] == 1 {
		dim++
	}
	if len(shape) == 0 {
		return 0, 1
	}
	return dim, shape[dim]
}

// of returns what a root holds of an access.
func (v values) of(p *plan.Plan, a *region.Access) []uint64 {
	all := v[a.Root]
	if dim, n := cut(p.Roots[a.Root].Shape); n == len(all) && len(a.Lo) > 0 {
		return all[a.Lo[dim]:a.Hi[dim]]
	}
	return all
}

// run computes what a task writes from its number in the whole plan and from all that it reads. Collectives
// do so element by element.
func (v values) run(p *plan.Plan, t *plan.Task, number int) {
	first := uint64(number)*0x9e3779b97f4a7c15 + 1
	if t.Builtin != nil && t.Builtin.Op == "all_reduce" {
		for k := range v.of(p, &t.Access[0]) {
			mix := first
			for i := range t.Access {
				mix = (mix ^ v.of(p, &t.Access[i])[k]) * 0xbf58476d1ce4e5b9
			}
			for i := range t.Access {
				v.of(p, &t.Access[i])[k] = mix
			}
		}
		return
	}
	mix := first
	for i := range t.Access {
		if a := &t.Access[i]; !a.Empty() && a.Perm != perm.Write && a.Perm != perm.Scratch {
			for _, x := range v[a.Root] {
				mix = (mix ^ x) * 0xbf58476d1ce4e5b9
			}
		}
	}
	for i := range t.Access {
		if a := &t.Access[i]; !a.Empty() && a.Perm != perm.Read && a.Perm != perm.None {
			for k := range v[a.Root] {
				x := &v[a.Root][k]
				if a.Perm == perm.Write && t.Tile > 0 { // the other elements stay
					*x *= 31
				} else {
					*x = 0
				}
				*x += (mix + uint64(i)) * uint64(2*k+1)
			}
		}
	}
}

// begin returns what roots hold at first, by the numbers that they have in the whole plan.
func begin(p *plan.Plan, number func(i int) int) values {
	v := make(values, len(p.Roots))
	for i := range v {
		_, n := cut(p.Roots[i].Shape)
		v[i] = make([]uint64, n)
		if use := p.Roots[i].Use; use == plan.Fed || use == plan.Variable {
			for k := range v[i] {
				v[i][k] = uint64(number(i))*0x94d049bb133111eb + 5 + uint64(k)
			}
		}
	}
	return v
}

// sequential returns what the roots of a plan hold at the end.
func sequential(p *plan.Plan) values {
	v := begin(p, func(i int) int { return i })
	for t := range p.Tasks {
		v.run(p, &p.Tasks[t], t)
	}
	return v
}

// outcome runs the queues of all parts in an order that chance decides. The messages from a rank to another
// come in the order in which they are sent, and must have one size at both ends. It returns what results and
// variables hold on the ranks of their devices, and on others if they are there; ok is false if the ranks
// come to no end, or if a task runs before one that it is asked to come after is over on all ranks.
func (d *divided) outcome(r *rand.Rand) (out []map[int][]uint64, ok bool) {
	type worker struct{ rank, w, at int }
	var workers []*worker
	var v []values
	signals, shared := make([][]int, len(d.parts)), make([]map[int]bool, len(d.parts))
	for rank, p := range d.parts {
		v = append(v, begin(p.Plan, func(i int) int { return int(p.Roots[i]) }))
		signals[rank], shared[rank] = make([]int, p.Plan.Schedule.Workers()), map[int]bool{}
		for w := range p.Plan.Schedule.Queues {
			workers = append(workers, &worker{rank: rank, w: w})
		}
	}
	left := make([]int, len(d.whole.Tasks)) // ranks on which tasks have not run yet
	for _, p := range d.parts {
		for _, of := range p.Tasks {
			if of != plan.Message {
				left[of]++
			}
		}
	}
	early := false
	type letter struct {
		elements []uint64
		bytes    int
	}
	mail := map[[2]int][]letter{} // by sender and receiver
	run := func(rank, t int) {
		p := d.parts[rank]
		of := p.Tasks[t]
		v[rank].run(p.Plan, &p.Plan.Tasks[t], of)
		early = early || slices.ContainsFunc(d.whole.Tasks[of].After, func(before int) bool { return left[before] > 0 })
		left[of]--
	}
	now := func(w *worker) (schedule.Kind, int, bool) {
		queue := d.parts[w.rank].Plan.Schedule.Queues[w.w]
		if w.at >= len(queue) {
			return 0, 0, false
		}
		kind, n := queue[w.at].Decode()
		return kind, n, true
	}
	for {
		moved, more := false, false
		for _, i := range r.Perm(len(workers)) {
			w := workers[i]
			kind, n, has := now(w)
			if !has {
				continue
			}
			more = true
			p := d.parts[w.rank].Plan
			switch kind {
			case schedule.Run:
				if t := &p.Tasks[n]; t.Talks() {
					a := &t.Access[0]
					elements := v[w.rank].of(p, a)
					if line := [2]int{w.rank, t.Builtin.Peer}; t.Builtin.Op == "send" {
						mail[line] = append(mail[line], letter{slices.Clone(elements), a.Volume() * p.Roots[a.Root].Type.Size()})
						break
					}
					line := [2]int{t.Builtin.Peer, w.rank}
					if len(mail[line]) == 0 {
						continue
					}
					m := mail[line][0]
					if mail[line] = mail[line][1:]; m.bytes != a.Volume()*p.Roots[a.Root].Type.Size() || len(m.elements) != len(elements) {
						return nil, false
					}
					copy(elements, m.elements)
				} else {
					run(w.rank, n)
				}
			case schedule.Share:
				if !shared[w.rank][n] {
					run(w.rank, n)
				}
				shared[w.rank][n] = true
			case schedule.Signal:
				signals[w.rank][w.w] = w.at + 1
			case schedule.WaitFor:
				if wait := p.Schedule.Waits[n]; signals[w.rank][wait.Worker] < int(wait.Position) {
					continue
				}
			case schedule.WaitShared:
				if !shared[w.rank][n] {
					continue
				}
			}
			w.at++
			moved = true
		}
		if !more {
			break
		}
		if !moved || early {
			return nil, false
		}
	}
	if early {
		return nil, false
	}
	for rank, p := range d.parts {
		seen := map[int][]uint64{}
		for i := range p.Plan.Roots {
			if use := p.Plan.Roots[i].Use; use == plan.Variable || use == plan.Fetched {
				seen[int(p.Roots[i])] = v[rank][i]
			}
		}
		out = append(out, seen)
	}
	return out, true
}

// right reports whether the parts come to an end in some random orders, with what the whole plan computes.
func (d *divided) right(r *rand.Rand) bool {
	want := sequential(d.whole)
	for range 4 {
		out, ok := d.outcome(r)
		if !ok {
			return false
		}
		for rank, seen := range out {
			for i := range d.whole.Roots {
				root := &d.whole.Roots[i]
				v, here := seen[i]
				if use := root.Use; (use == plan.Variable || use == plan.Fetched) && (!here && d.owner[root.Device] == rank || here && !slices.Equal(v, want[i])) {
					return false
				}
			}
		}
	}
	return true
}

// copyOf returns a copy of the parts whose tasks and numbers may change.
func (d *divided) copyOf() *divided {
	out := &divided{whole: d.whole, owner: d.owner}
	for _, p := range d.parts {
		q, m := *p, *p.Plan
		q.Devices, q.Roots, q.From, q.Calls, q.Tasks = slices.Clone(p.Devices), slices.Clone(p.Roots), slices.Clone(p.From), slices.Clone(p.Calls), slices.Clone(p.Tasks)
		m.Roots, m.Tasks = slices.Clone(m.Roots), slices.Clone(m.Tasks)
		for i := range m.Tasks {
			t := &m.Tasks[i]
			t.Access, t.After = slices.Clone(t.Access), slices.Clone(t.After)
			if t.Builtin != nil {
				b := *t.Builtin
				t.Builtin = &b
			}
		}
		q.Plan = &m
		out.parts = append(out.parts, &q)
	}
	return out
}

// messages returns the tasks of a part that are messages.
func messages(p *plan.Part) (out []int) {
	for i := range p.Plan.Tasks {
		if p.Plan.Tasks[i].Talks() {
			out = append(out, i)
		}
	}
	return out
}

// remove removes a task from a part.
func remove(p *plan.Part, at int) {
	p.Plan.Tasks, p.Tasks = slices.Delete(p.Plan.Tasks, at, at+1), slices.Delete(p.Tasks, at, at+1)
	for i := range p.Plan.Tasks {
		t := &p.Plan.Tasks[i]
		t.After = slices.DeleteFunc(t.After, func(k int) bool { return k == at })
		for k := range t.After {
			if t.After[k] > at {
				t.After[k]--
			}
		}
	}
}

// exchange exchanges two tasks of a part that follow each other.
func exchange(p *plan.Part, at int) {
	p.Plan.Tasks[at], p.Plan.Tasks[at+1] = p.Plan.Tasks[at+1], p.Plan.Tasks[at]
	p.Tasks[at], p.Tasks[at+1] = p.Tasks[at+1], p.Tasks[at]
	for i := range p.Plan.Tasks {
		for k, b := range p.Plan.Tasks[i].After {
			switch {
			case b == at:
				b = at + 1
			case b == at+1:
				b = at
			}
			p.Plan.Tasks[i].After[k] = b
		}
		p.Plan.Tasks[i].After = slices.DeleteFunc(p.Plan.Tasks[i].After, func(k int) bool { return k >= i })
	}
}

// partner returns the rank and the task at the other end of a message.
func (d *divided) partner(b *plan.Builtin, rank int) (*plan.Part, int) {
	other := d.parts[b.Peer]
	return other, slices.IndexFunc(other.Plan.Tasks, func(t plan.Task) bool {
		return t.Talks() && t.Builtin.Message == b.Message && t.Builtin.Peer == rank && t.Builtin.Op != b.Op
	})
}

// swap is the kind that changes queues, and not tasks.
const swap = "exchange entries of a queue"

// kinds are the ways in which parts are changed. Each gets a part and a message of it.
var kinds = []struct {
	name   string
	change func(r *rand.Rand, d *divided, p *plan.Part, at int)
}{
	{swap, func(*rand.Rand, *divided, *plan.Part, int) {}},
	{"drop an end", func(_ *rand.Rand, d *divided, p *plan.Part, at int) { remove(p, at) }},
	{"drop both ends", func(_ *rand.Rand, d *divided, p *plan.Part, at int) {
		other, k := d.partner(p.Plan.Tasks[at].Builtin, p.Rank)
		remove(other, k)
		remove(p, at)
	}},
	{"exchange with the next task", func(_ *rand.Rand, d *divided, p *plan.Part, at int) {
		if at+1 < len(p.Tasks) {
			exchange(p, at)
		}
	}},
	{"exchange with the task before", func(_ *rand.Rand, d *divided, p *plan.Part, at int) {
		if at > 0 {
			exchange(p, at-1)
		}
	}},
	{"send later at one end", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		for to := at + 1 + r.IntN(len(p.Tasks)-at); at+1 < to; at++ {
			exchange(p, at)
		}
	}},
	{"redirect", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.Plan.Tasks[at].Builtin.Peer = r.IntN(len(d.parts) + 1)
	}},
	{"another root", func(r *rand.Rand, d *divided, p *plan.Part, at int) { otherRoot(r, p, at, false) }},
	{"another root alike", func(r *rand.Rand, d *divided, p *plan.Part, at int) { otherRoot(r, p, at, true) }},
	{"another root alike at both ends", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		other, k := d.partner(p.Plan.Tasks[at].Builtin, p.Rank)
		otherRoot(r, p, at, true)
		otherRoot(r, other, k, true)
	}},
	{"renumber", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.Plan.Tasks[at].Builtin.Message += 1 - 2*r.IntN(2)
	}},
	{"other elements", func(r *rand.Rand, d *divided, p *plan.Part, at int) { otherElements(r, &p.Plan.Tasks[at]) }},
	{"other elements at both ends", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		other, k := d.partner(p.Plan.Tasks[at].Builtin, p.Rank)
		by := r.Uint64()
		otherElements(rand.New(rand.NewPCG(by, 1)), &p.Plan.Tasks[at])
		otherElements(rand.New(rand.NewPCG(by, 1)), &other.Plan.Tasks[k])
	}},
	{"another slice", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		if t := d.slice(p.Rank); t != nil {
			for k := range t.Access {
				shrink(&t.Access[k], r.IntN(2))
			}
			t.Over = t.Access[0].Volume()
		}
	}},
	{"call elements others", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.From[r.IntN(len(p.From))] += 1 - 2*r.IntN(2)
	}},
	{"turn round", func(_ *rand.Rand, d *divided, p *plan.Part, at int) {
		other, k := d.partner(p.Plan.Tasks[at].Builtin, p.Rank)
		a, b := &p.Plan.Tasks[at], &other.Plan.Tasks[k]
		a.Builtin.Op, b.Builtin.Op = b.Builtin.Op, a.Builtin.Op
		a.Access[0].Perm, b.Access[0].Perm = b.Access[0].Perm, a.Access[0].Perm
	}},
	{"no order", func(_ *rand.Rand, d *divided, p *plan.Part, at int) { p.Plan.Tasks[at].After = nil }},
	{"no order of a task", func(r *rand.Rand, d *divided, p *plan.Part, _ int) {
		if i := d.ordered(r, p); i >= 0 {
			after := &p.Plan.Tasks[i].After
			k := r.IntN(len(*after))
			*after = slices.Delete(*after, k, k+1)
		}
	}},
	{"after another task", func(r *rand.Rand, d *divided, p *plan.Part, _ int) {
		if i := d.ordered(r, p); i >= 0 {
			after := p.Plan.Tasks[i].After
			after[r.IntN(len(after))] = r.IntN(i)
		}
	}},
	{"tell of another task", func(r *rand.Rand, d *divided, p *plan.Part, _ int) {
		if i := d.ordered(r, p); i >= 0 {
			for _, k := range p.Plan.Tasks[i].After {
				if p.Tasks[k] == plan.Message {
					other, at := d.partner(p.Plan.Tasks[k].Builtin, p.Rank)
					after := other.Plan.Tasks[at].After
					after[r.IntN(len(after))] = r.IntN(at)
					return
				}
			}
		}
	}},
	{"call a root another", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.Roots[r.IntN(len(p.Roots))] = region.Root(r.IntN(len(d.whole.Roots)))
	}},
	{"call a task another", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.Tasks[r.IntN(len(p.Tasks))] = r.IntN(len(d.whole.Tasks)+1) - 1
	}},
	{"call a call another", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		if len(p.Calls) > 0 {
			p.Calls[r.IntN(len(p.Calls))] = r.IntN(len(d.whole.Calls))
		}
	}},
	{"drop a task", func(r *rand.Rand, d *divided, p *plan.Part, at int) { remove(p, r.IntN(len(p.Tasks))) }},
	{"repeat a task", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		i := r.IntN(len(p.Tasks))
		p.Plan.Tasks, p.Tasks = append(p.Plan.Tasks, p.Plan.Tasks[i]), append(p.Tasks, p.Tasks[i])
	}},
	{"another use", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		p.Plan.Roots[r.IntN(len(p.Plan.Roots))].Use = plan.Use(r.IntN(4))
	}},
	{"other permissions", func(r *rand.Rand, d *divided, p *plan.Part, at int) {
		t := &p.Plan.Tasks[r.IntN(len(p.Tasks))]
		t.Access[r.IntN(len(t.Access))].Perm = []perm.Perm{perm.Read, perm.Write, perm.ReadWrite}[r.IntN(3)]
	}},
}

// ordered returns a task of a part that the whole plan asks to come after another one; -1 if there is none.
func (d *divided) ordered(r *rand.Rand, p *plan.Part) int {
	var all []int
	for i, of := range p.Tasks {
		if of != plan.Message && len(d.whole.Tasks[of].After) > 0 {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[r.IntN(len(all))]
}

// slice returns a task of a rank that is a slice of a collective, or nil.
func (d *divided) slice(rank int) *plan.Task {
	p := d.parts[rank]
	for i := range p.Plan.Tasks {
		if t := &p.Plan.Tasks[i]; t.Builtin != nil && t.Builtin.Op == "all_reduce" && t.Over < d.whole.Tasks[p.Tasks[i]].Over {
			return t
		}
	}
	return nil
}

// otherElements makes a message leave out elements.
func otherElements(r *rand.Rand, t *plan.Task) {
	shrink(&t.Access[0], r.IntN(2))
	t.Over = t.Access[0].Volume()
	t.Grain = max(t.Over, 1)
}

// shrink takes an index from the first dimension of an access that has several: the first or the last one.
func shrink(a *region.Access, last int) {
	a.Box = region.Box{Lo: slices.Clone(a.Lo), Hi: slices.Clone(a.Hi)}
	for d := range a.Lo {
		if a.Hi[d]-a.Lo[d] > 1 {
			a.Lo[d] += 1 - last
			a.Hi[d] -= last
			return
		}
	}
}

// swapped exchanges two entries of a queue that follow each other, of which one is a message.
func swapped(r *rand.Rand, p *plan.Part, message int) {
	s := p.Plan.Schedule
	s.Queues = slices.Clone(s.Queues)
	for w, queue := range s.Queues {
		if at := slices.Index(queue, schedule.Op(message)); at >= 0 {
			queue = slices.Clone(queue)
			if at += r.IntN(2); at > 0 && at < len(queue) {
				queue[at-1], queue[at] = queue[at], queue[at-1]
			}
			s.Queues[w] = queue
		}
	}
	p.Plan.Schedule = s
}

// otherRoot gives a message another root of its rank; alike says that it has the same type and shape.
func otherRoot(r *rand.Rand, p *plan.Part, at int, alike bool) {
	a := &p.Plan.Tasks[at].Access[0]
	now := p.Plan.Roots[a.Root].Operand().String()
	var among []region.Root
	for i := range p.Plan.Roots {
		if !alike || p.Plan.Roots[i].Operand().String() == now {
			among = append(among, region.Root(i))
		}
	}
	to := among[r.IntN(len(among))]
	a.Region = region.Whole(to, p.Plan.Roots[to].Shape)
}

// TestMutants changes parts of random plans. What the verifier accepts must compute what the whole plan does,
// in random orders of the queues. Most mutants must be refused, and each kind in some case: kinds that few
// parts tell from the original, such as an order that other tasks impose too, have more mutants at the end.
func TestMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(*mutantSeed+1, 140))
	refused := map[string]int{}
	accepted := 0
	var subjects []*divided
	for seed := *mutantSeed; len(subjects) < 30; seed++ {
		d := random(t, seed)
		if slices.ContainsFunc(d.whole.Tasks, func(t plan.Task) bool { return t.Tile > 1 }) {
			continue // tiles of a step have no order, which values do not tell
		}
		if len(subjects) >= 20 && d.slice(0) == nil && d.slice(1) == nil {
			continue // some have collectives in slices
		}
		if !d.right(r) {
			t.Fatalf("seed %d: the parts compute something else", seed)
		}
		subjects = append(subjects, d)
	}
	for n := 0; n < *mutants || n < 1000*len(kinds) && len(refused) < len(kinds); n++ {
		kind := kinds[n%len(kinds)]
		if n >= *mutants && refused[kind.name] > 0 {
			continue
		}
		d := subjects[r.IntN(len(subjects))].copyOf()
		p := d.parts[r.IntN(len(d.parts))]
		if len(messages(p)) == 0 {
			continue
		}
		at := messages(p)[r.IntN(len(messages(p)))]
		kind.change(r, d, p, at)
		whole := true
		for _, p := range d.parts { // queues that fit the changed tasks
			whole = whole && planner.Complete(p.Plan, planner.Workers(p.Plan.Schedule.Workers()), times(r, p.Plan)) == nil
		}
		if kind.name == swap {
			swapped(r, p, at)
		}
		if !whole || verify.Ranks(d.whole, d.owner, d.parts) != nil {
			refused[kind.name]++
			continue
		}
		if accepted++; !d.right(r) {
			t.Errorf("mutant %d (%s) computes something else", n, kind.name)
		}
	}
	all := 0
	for _, kind := range kinds {
		if all += refused[kind.name]; refused[kind.name] == 0 {
			t.Errorf("no mutant of the kind %q is refused", kind.name)
		}
	}
	if accepted == 0 || all < *mutants*6/10 {
		t.Errorf("%d mutants are refused, %d accepted", all, accepted)
	}
	t.Logf("%d refused %v, %d accepted", all, refused, accepted)
}
