package planner

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/schedule"
)

// mutator breaks a plan somewhere, if it finds a place.
type mutator struct {
	name string
	// structural says that the plan is wrong in every case. Function brute judges the others.
	structural bool
	mutate     func(p *plan.Plan, r *rand.Rand) bool
}

// entries returns the places of all queue entries of a kind: worker and index.
func entries(p *plan.Plan, want ...schedule.Kind) (out [][2]int) {
	for w, q := range p.Schedule.Queues {
		for i, op := range q {
			if kind, _ := op.Decode(); slices.Contains(want, kind) {
				out = append(out, [2]int{w, i})
			}
		}
	}
	return out
}

// remove takes an entry out of a queue; positions of waits behind it move along.
func remove(p *plan.Plan, w, i int) schedule.Op {
	q := p.Schedule.Queues[w]
	op := q[i]
	p.Schedule.Queues[w] = slices.Delete(q, i, i+1)
	for k := range p.Schedule.Waits {
		if v := &p.Schedule.Waits[k]; int(v.Worker) == w && int(v.Position) > i {
			v.Position--
		}
	}
	return op
}

// insert is the opposite of remove.
func insert(p *plan.Plan, w, i int, op schedule.Op) {
	p.Schedule.Queues[w] = slices.Insert(p.Schedule.Queues[w], i, op)
	for k := range p.Schedule.Waits {
		if v := &p.Schedule.Waits[k]; int(v.Worker) == w && int(v.Position) > i {
			v.Position++
		}
	}
}

// drop returns a function that takes out an entry of one of the kinds.
func drop(kinds ...schedule.Kind) func(*plan.Plan, *rand.Rand) bool {
	return func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, kinds...)
		if len(es) == 0 {
			return false
		}
		e := es[r.IntN(len(es))]
		remove(p, e[0], e[1])
		return true
	}
}

// wait returns a function that changes a wait.
func wait(change func(p *plan.Plan, v *schedule.Wait, r *rand.Rand) bool) func(*plan.Plan, *rand.Rand) bool {
	return func(p *plan.Plan, r *rand.Rand) bool {
		n := len(p.Schedule.Waits)
		return n > 0 && change(p, &p.Schedule.Waits[r.IntN(n)], r)
	}
}

// root returns a function that changes a root in the arena.
func root(change func(p *plan.Plan, x *plan.Root, r *rand.Rand) bool) func(*plan.Plan, *rand.Rand) bool {
	return func(p *plan.Plan, r *rand.Rand) bool {
		var list []*plan.Root
		for i := range p.Roots {
			if x := &p.Roots[i]; x.Use != plan.Variable && x.First <= x.Last {
				list = append(list, x)
			}
		}
		return len(list) > 0 && change(p, list[r.IntN(len(list))], r)
	}
}

var mutators = []mutator{
	{"dropped wait", false, drop(schedule.WaitFor)},
	{"dropped wait for a shared task", false, drop(schedule.WaitShared)},
	{"dropped signal", false, drop(schedule.Signal)},
	{"missing task", true, drop(schedule.Run, schedule.Share)},
	{"wait lowered", false, wait(func(_ *plan.Plan, v *schedule.Wait, r *rand.Rand) bool {
		v.Position = int32(r.IntN(int(v.Position)))
		return true
	})},
	{"wait raised", false, wait(func(p *plan.Plan, v *schedule.Wait, r *rand.Rand) bool {
		v.Position += int32(1 + r.IntN(len(p.Schedule.Queues[v.Worker])))
		return true
	})},
	{"wait for another worker", false, wait(func(p *plan.Plan, v *schedule.Wait, r *rand.Rand) bool {
		old := v.Worker
		v.Worker = int32(r.IntN(p.Schedule.Workers()))
		return v.Worker != old
	})},
	{"wait for no worker", true, wait(func(p *plan.Plan, v *schedule.Wait, _ *rand.Rand) bool {
		v.Worker = int32(p.Schedule.Workers())
		return true
	})},
	{"swapped order", false, func(p *plan.Plan, r *rand.Rand) bool {
		w := r.IntN(p.Schedule.Workers())
		q := p.Schedule.Queues[w]
		if len(q) < 2 {
			return false
		}
		i := r.IntN(len(q) - 1)
		j := i + 1
		if r.IntN(2) == 0 {
			j = i + 1 + r.IntN(len(q)-1-i)
		}
		q[i], q[j] = q[j], q[i]
		return q[i] != q[j]
	}},
	{"entry elsewhere in its queue", false, func(p *plan.Plan, r *rand.Rand) bool {
		w := r.IntN(p.Schedule.Workers())
		n := len(p.Schedule.Queues[w])
		if n < 2 {
			return false
		}
		op := remove(p, w, r.IntN(n))
		insert(p, w, r.IntN(n), op)
		return true
	}},
	{"task moved to another worker", false, func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, schedule.Run)
		if len(es) == 0 || p.Schedule.Workers() < 2 {
			return false
		}
		e := es[r.IntN(len(es))]
		op := remove(p, e[0], e[1])
		to := (e[0] + 1 + r.IntN(p.Schedule.Workers()-1)) % p.Schedule.Workers()
		insert(p, to, r.IntN(len(p.Schedule.Queues[to])+1), op)
		return true
	}},
	{"doubled task", true, func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, schedule.Run, schedule.Share)
		e := es[r.IntN(len(es))]
		to := r.IntN(p.Schedule.Workers())
		insert(p, to, r.IntN(len(p.Schedule.Queues[to])+1), p.Schedule.Queues[e[0]][e[1]])
		return true
	}},
	{"task replaced by another", true, func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, schedule.Run)
		if len(es) < 2 {
			return false
		}
		a, b := es[r.IntN(len(es))], es[r.IntN(len(es))]
		p.Schedule.Queues[a[0]][a[1]] = p.Schedule.Queues[b[0]][b[1]]
		return a != b
	}},
	{"shared task treated as a plain one", true, func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, schedule.Share)
		if len(es) == 0 {
			return false
		}
		e := es[r.IntN(len(es))]
		_, t := p.Schedule.Queues[e[0]][e[1]].Decode()
		p.Schedule.Queues[e[0]][e[1]] = schedule.Op(t)
		return true
	}},
	{"plain task declared shared", true, func(p *plan.Plan, r *rand.Rand) bool {
		es := entries(p, schedule.Run)
		if len(es) == 0 {
			return false
		}
		e := es[r.IntN(len(es))]
		_, t := p.Schedule.Queues[e[0]][e[1]].Decode()
		p.Schedule.Shared = append(p.Schedule.Shared, int32(t))
		return true
	}},
	{"shared task no longer declared", true, func(p *plan.Plan, r *rand.Rand) bool {
		n := len(p.Schedule.Shared)
		if n == 0 {
			return false
		}
		k := r.IntN(n)
		p.Schedule.Shared = slices.Delete(p.Schedule.Shared, k, k+1)
		return true
	}},
	{"queue lost", true, func(p *plan.Plan, r *rand.Rand) bool {
		w := r.IntN(p.Schedule.Workers())
		if len(p.Schedule.Queues[w]) == 0 {
			return false
		}
		p.Schedule.Queues[w] = nil
		return true
	}},
	{"buffer elsewhere", false, root(func(p *plan.Plan, x *plan.Root, r *rand.Rand) bool {
		old := x.Place.Off
		x.Place.Off = int64(r.IntN(int(p.ArenaBytes/plan.Align))) * plan.Align
		return x.Place.Off != old
	})},
	{"buffer on top of another", false, root(func(p *plan.Plan, x *plan.Root, r *rand.Rand) bool {
		q := &p.Roots[r.IntN(len(p.Roots))]
		old := x.Place.Off
		x.Place.Off = q.Place.Off
		return q.Use != plan.Variable && q.First <= q.Last && x.Place.Off != old
	})},
	{"buffer outside the arena", true, root(func(p *plan.Plan, x *plan.Root, _ *rand.Rand) bool {
		x.Place.Off = p.ArenaBytes
		return x.Place.Bytes > 0
	})},
	{"buffer not aligned", true, root(func(_ *plan.Plan, x *plan.Root, _ *rand.Rand) bool { x.Place.Off++; return true })},
	{"buffer too small", true, root(func(_ *plan.Plan, x *plan.Root, _ *rand.Rand) bool { x.Place.Bytes--; return true })},
	{"shorter life", true, root(func(p *plan.Plan, x *plan.Root, _ *rand.Rand) bool {
		x.Last--
		return x.Last >= -1 && x.First <= x.Last+1
	})},
	{"variable in the arena", true, func(p *plan.Plan, _ *rand.Rand) bool {
		for i := range p.Roots {
			if p.Roots[i].Use == plan.Variable {
				p.Roots[i].Place.Space = 0
				return true
			}
		}
		return false
	}},
	{"missing producer", true, func(p *plan.Plan, _ *rand.Rand) bool {
		for i := range p.Roots {
			r := &p.Roots[i]
			if r.Use != plan.Fed || r.First > r.Last {
				continue
			}
			for t := range p.Tasks {
				for k, a := range p.Tasks[t].Access {
					if int(a.Root) == i && len(bruteElements(&p.Tasks[t], k)) > 0 {
						r.Use = plan.Internal
						return a.Perm.Reads()
					}
				}
			}
		}
		return false
	}},
	{"wrong dependency", true, func(p *plan.Plan, r *rand.Rand) bool {
		if len(p.Deps.Pred) == 0 {
			return false
		}
		p.Deps.Pred[r.IntN(len(p.Deps.Pred))] = int32(len(p.Tasks))
		return true
	}},
	{"explicit dependency on a later task", true, func(p *plan.Plan, r *rand.Rand) bool {
		t := r.IntN(len(p.Tasks))
		p.Tasks[t].After = []int{t + r.IntN(3)}
		return true
	}},
	{"access outside its root", true, func(p *plan.Plan, r *rand.Rand) bool {
		a := &p.Tasks[r.IntN(len(p.Tasks))].Access[0]
		a.Hi[0] = p.Roots[a.Root].Shape[0] + 1
		return true
	}},
	{"no root", true, func(p *plan.Plan, r *rand.Rand) bool {
		p.Tasks[r.IntN(len(p.Tasks))].Access[0].Root = -1
		return true
	}},
	{"no range", true, func(p *plan.Plan, r *rand.Rand) bool { p.Tasks[r.IntN(len(p.Tasks))].Grain = 0; return true }},
}

// clone returns a deep copy.
func clone(t testing.TB, p *plan.Plan) *plan.Plan {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCheckKillsMutants breaks random plans, of whole steps and of tiles, with all mutators. Package verify
// must refuse each mutant unless it is still right, which brute decides on its own; and must accept those
// that are.
func TestCheckKillsMutants(t *testing.T) {
	t.Parallel()
	kinds := map[string]*struct{ killed, equal int }{}
	// A mutant of a tile is often right, so there are more of them.
	all := slices.Concat(mutators, tileMutators, tileMutators, tileMutators)
	for _, m := range all {
		kinds[m.name] = &struct{ killed, equal int }{}
	}
	n := uint64(*mutants)
	if testing.Short() {
		n /= 2 // one goroutine does this; make property does all under the race detector
	}
	// alive are mutators none of whose mutants was wrong. A few plans may be too few for all of them: more
	// are drawn for those.
	alive := func() []mutator {
		return slices.DeleteFunc(slices.Clone(all[:len(mutators)+len(tileMutators)]), func(m mutator) bool { return kinds[m.name].killed > 0 })
	}
	for i := uint64(0); i <= n || i <= n+2000 && len(alive()) > 0; i++ {
		seed := *first + i - 1
		if i == 0 {
			seed = 841132 // of bytes in a third root, when the second has an access to others only
		}
		breaks := all
		if i > n {
			breaks = alive()
		}
		r := rand.New(rand.NewPCG(seed, 7))
		p, times := randomPlan(r, 14)
		if seed%2 == 1 {
			p, times = randomTiles(r, 5)
		}
		for i := range times { // few shared tasks, so that brute has few choices
			if r.IntN(3) > 0 {
				times[i] = min(times[i], 2000)
			}
		}
		p, err := Reschedule(p, Workers(2+r.IntN(2)), Times(times))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(p.Schedule.Shared) > 5 {
			continue
		}
		if err := verify.Plan(p); err != nil || !brute(p) {
			t.Fatalf("seed %d: verify says %v, brute force %v", seed, err, brute(p))
		}
		for _, m := range breaks {
			q := clone(t, p)
			if !m.mutate(q, r) {
				continue
			}
			err := verify.Plan(q)
			right := !m.structural && brute(q)
			if (err == nil) != right {
				t.Fatalf("seed %d, %s: verify says %v, brute force says right: %v\n%+v\n%+v", seed, m.name, err, right, q.Schedule, q.Tasks)
			}
			if right {
				kinds[m.name].equal++
			} else {
				kinds[m.name].killed++
			}
		}
	}
	for _, m := range all[:len(mutators)+len(tileMutators)] {
		k := kinds[m.name]
		t.Logf("%-40s %5d killed, %5d still right", m.name, k.killed, k.equal)
		if k.killed == 0 {
			t.Errorf("%s: no mutant was wrong", m.name)
		}
	}
}
