package planner

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// touched are the elements that an access touches, as pointers into the memory of its root.
type touched struct {
	perm  perm.Perm
	float bool
	at    []*uint32
}

// mixer is a body that uses all permissions of its accesses. What it writes depends on all that it reads, and
// on the order of tasks where conflicts fix it. Range i writes the elements of number i.
type mixer struct {
	number uint32
	access []touched
}

func (m *mixer) Run(_ *op.Ctx, r op.Range) error {
	mix := m.number*2654435761 + 1
	for _, a := range m.access {
		if a.perm == perm.Read {
			for _, e := range a.at {
				mix = mix*31 + *e
			}
		}
	}
	for i := r.Lo; i < r.Hi; i++ {
		for _, a := range m.access {
			if i >= len(a.at) {
				continue
			}
			e := a.at[i]
			v := mix + uint32(i)
			switch {
			case a.perm == perm.Write || a.perm == perm.Scratch:
				*e = a.bits(v)
			case a.perm == perm.ReadWrite && a.float:
				*e = math.Float32bits(math.Float32frombits(*e)*0.75 + math.Float32frombits(a.bits(v)))
			case a.perm == perm.ReadWrite:
				*e = *e*33 + v
			case a.perm == perm.Reduce && a.float:
				*e = math.Float32bits(math.Float32frombits(*e) + math.Float32frombits(a.bits(v)))
			case a.perm == perm.Reduce:
				*e += v
			}
		}
	}
	return nil
}

// bits returns v as an element: for a float, the bits of one between 0 and 1, of which sums are rounded.
func (a *touched) bits(v uint32) uint32 {
	if a.float {
		return math.Float32bits(float32(v%1000003) / 1000003)
	}
	return v
}

// bodies binds the tasks of a plan to the memory of its roots.
func bodies(p *plan.Plan, memory [][]byte) []exec.Task {
	tasks := make([]exec.Task, len(p.Tasks))
	for t := range p.Tasks {
		m := &mixer{number: uint32(t)}
		for _, a := range p.Tasks[t].Access {
			e := touched{perm: a.Perm, float: p.Roots[a.Root].Type == dtype.F32}
			shape := p.Roots[a.Root].Shape
			index := append([]int{}, a.Lo...)
			for !a.Empty() {
				flat := 0
				for d, i := range index {
					flat = flat*shape[d] + i
				}
				e.at = append(e.at, (*uint32)(unsafe.Pointer(&memory[a.Root][4*flat])))
				d := len(index) - 1
				for ; d >= 0; d-- {
					if index[d]++; index[d] < a.Hi[d] {
						break
					}
					index[d] = a.Lo[d]
				}
				if d < 0 {
					break
				}
			}
			m.access = append(m.access, e)
		}
		grid := p.Tasks[t].Grid()
		tasks[t] = exec.Task{Body: m, Grid: &grid}
	}
	return tasks
}

// memoryOf gives every root its bytes: those of its place, or its own if apart.
func memoryOf(p *plan.Plan, apart bool) [][]byte {
	aligned := func(n int64) []byte {
		words := make([]uint64, n/8+1)
		return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	}
	arena := aligned(p.ArenaBytes)
	memory := make([][]byte, len(p.Roots))
	for i := range p.Roots {
		r := &p.Roots[i]
		switch {
		case r.First > r.Last && r.Use != plan.Variable:
		case apart || r.Use == plan.Variable:
			memory[i] = aligned(r.Place.Bytes)[:r.Place.Bytes]
		default:
			memory[i] = arena[r.Place.Off : r.Place.Off+r.Place.Bytes]
		}
	}
	return memory
}

// feedAll writes what the caller writes before the first run, or, of inputs, before each.
func feedAll(p *plan.Plan, memory [][]byte, first bool) {
	for i := range p.Roots {
		if use := p.Roots[i].Use; use != plan.Fed && (use != plan.Variable || !first) {
			continue
		}
		e := touched{float: p.Roots[i].Type == dtype.F32}
		for k := 0; k < len(memory[i]); k += 4 {
			binary.NativeEndian.PutUint32(memory[i][k:], e.bits(uint32(i*1000+k)))
		}
	}
}

// results returns a copy of all that the caller may read after a run.
func results(p *plan.Plan, memory [][]byte) []byte {
	var b bytes.Buffer
	for i := range p.Roots {
		if use := p.Roots[i].Use; use == plan.Fetched || use == plan.Variable {
			fmt.Fprintf(&b, "%s %x\n", p.Roots[i].Name, memory[i])
		}
	}
	return b.Bytes()
}

// runRandom runs a plan twice on its workers and returns what the caller may read after each run.
func runRandom(p *plan.Plan) ([][]byte, error) {
	memory := memoryOf(p, false)
	prog, err := exec.NewProgram(&p.Schedule, bodies(p, memory))
	if err != nil {
		return nil, err
	}
	pool := exec.NewPool(p.Schedule.Workers())
	defer pool.Close()
	var out [][]byte
	for run := range 2 {
		feedAll(p, memory, run == 0)
		if err := pool.Run(context.Background(), prog, uint64(run)); err != nil {
			return nil, err
		}
		out = append(out, results(p, memory))
	}
	return out, nil
}

// TestParallelEqualsSequential runs random graphs on 1 to 8 workers, twice each. All compute, bit for
// bit, what the tasks compute one after the other, each root in memory of its own.
func TestParallelEqualsSequential(t *testing.T) {
	t.Parallel()
	parallel, sharedTasks, reused := 0, 0, 0
	for seed := *first; seed < *first+uint64(*graphs); seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		p, times := randomPlan(r, 40)
		p, err := Reschedule(p)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		memory := memoryOf(p, true)
		var want [][]byte
		serial := bodies(p, memory)
		for run := range 2 {
			feedAll(p, memory, run == 0)
			for _, x := range serial {
				for k := range x.Grid.Tiles() {
					if err := x.Body.Run(&op.Ctx{}, x.Grid.Tile(k)); err != nil {
						t.Fatal(err)
					}
				}
			}
			want = append(want, results(p, memory))
		}
		for workers := 1; workers <= 8; workers++ {
			q, err := Reschedule(p, Workers(workers), Times(times))
			if err == nil {
				err = verify.Plan(q)
			}
			if err != nil {
				t.Fatalf("seed %d, %d workers: %v", seed, workers, err)
			}
			got, err := runRandom(q)
			if err != nil {
				t.Fatal(err)
			}
			for run := range want {
				if !bytes.Equal(got[run], want[run]) {
					t.Fatalf("seed %d, %d workers, run %d: got\n%swant\n%s", seed, workers, run, got[run], want[run])
				}
			}
			if len(q.Schedule.Waits) > 0 {
				parallel++
			}
			sharedTasks += len(q.Schedule.Shared)
		}
		for _, list := range (draft{p}).reuse().before {
			reused += len(list)
		}
	}
	t.Logf("%d schedules with waits, %d shared tasks, memory reused %d times", parallel, sharedTasks, reused)
	if parallel == 0 || sharedTasks == 0 || reused == 0 {
		t.Error("the graphs do not show what they should")
	}
}

// TestReductions checks that reductions into one root wait for each other, also those of integers, and that
// the verifier asks for it: a fold is no atomic operation.
func TestReductions(t *testing.T) {
	t.Parallel()
	for _, typ := range []dtype.Type{dtype.I32, dtype.F32} {
		p := &plan.Plan{Name: "sums", Roots: []plan.Root{{Name: "sum", Type: typ, Shape: []int{4}, Use: plan.Variable, Place: region.Place{Space: region.Variable, Bytes: 16}}}}
		for range 2 {
			a := region.Access{Region: region.Whole(0, []int{4}), Perm: perm.Reduce, Redop: perm.Sum}
			p.Tasks = append(p.Tasks, plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "sum"}, Over: 4, Grain: 4, Access: []region.Access{a}})
		}
		draft{p}.lifetimes(nil)
		q, err := Reschedule(p, Workers(2), Times([]float64{1e5, 1e5}))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(q.Deps.Preds(1)); got != 1 {
			t.Errorf("%v: %d predecessors, want 1", typ, got)
		}
		if err := verify.Plan(q); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
		q.Deps = schedule.Graph{Start: []int32{0, 0, 0}}
		q.Schedule = schedule.Schedule{Tasks: 2, Queues: [][]schedule.Op{{0}, {1}}}
		if err := verify.Plan(q); err == nil || !strings.Contains(err.Error(), "they touch the same elements") {
			t.Errorf("%v: side by side, got %v", typ, err)
		}
	}
}
