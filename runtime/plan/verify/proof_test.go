package verify_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// byHand returns a plan of built-in operations, each with some accesses. Roots lie one behind the other
// unless a test moves them.
func byHand(shapes [][]int, queues [][]schedule.Op, accesses ...[]region.Access) *plan.Plan {
	p := &plan.Plan{Format: plan.Format, Name: "by hand"}
	for i, shape := range shapes {
		r := plan.Root{Name: string(rune('a' + i)), Type: dtype.F32, Shape: shape, First: len(accesses), Last: -1}
		r.Place = region.Place{Off: p.ArenaBytes, Bytes: r.Operand().Bytes()}
		p.ArenaBytes += (r.Place.Bytes + plan.Align - 1) / plan.Align * plan.Align
		p.Roots = append(p.Roots, r)
	}
	for t, list := range accesses {
		p.Tasks = append(p.Tasks, plan.Task{Call: -1, Builtin: &plan.Builtin{Op: "op"}, Over: 4, Grain: 4, Access: list})
		for _, a := range list {
			r := &p.Roots[a.Root]
			r.First, r.Last = min(r.First, t), max(r.Last, t)
		}
	}
	p.Deps = schedule.Graph{Start: make([]int32, len(accesses)+1)}
	p.Schedule = schedule.Schedule{Tasks: len(accesses), Queues: queues}
	return p
}

// access returns an access to elements lo to hi-1 of a root.
func access(r region.Root, lo, hi int, p perm.Perm) region.Access {
	return region.Access{Region: region.Region{Root: r, Box: region.Box{Lo: []int{lo}, Hi: []int{hi}}}, Perm: p}
}

// wantError checks that a plan is refused for a reason, or accepted without one.
func wantError(t *testing.T, name string, p *plan.Plan, want string) {
	t.Helper()
	err := verify.Plan(p)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v\nwant %s", name, err, want)
	}
}

// TestF20Reuse lets one access of a root come after the root that had its memory, and another access not. One
// access stands for the others only if these come after it.
func TestF20Reuse(t *testing.T) {
	t.Parallel()
	// Worker 0 writes a, and then the first half of b, in the same memory. Worker 1 writes the second half of
	// b.
	half := func(lo int) []region.Access { return []region.Access{access(1, lo, lo+2, perm.Write)} }
	p := byHand([][]int{{4}, {4}}, [][]schedule.Op{{0, 1}, {2}}, []region.Access{access(0, 0, 4, perm.Write)}, half(0), half(2))
	p.Roots[1].Place.Off, p.ArenaBytes = 0, plan.Align
	wantError(t, "first half", p, "memory of a is used again")
	p.Schedule.Queues = [][]schedule.Op{{0, 1, 2}, {}}
	wantError(t, "one worker", p, "")
	// The accesses of a are by two workers, of which b waits for one.
	write := []region.Access{access(0, 0, 2, perm.Write)}
	other := []region.Access{access(0, 2, 4, perm.Write)}
	p = byHand([][]int{{4}, {4}}, [][]schedule.Op{{0}, {1, 2}}, write, other, []region.Access{access(1, 0, 4, perm.Write)})
	p.Roots[1].Place.Off, p.ArenaBytes = 0, plan.Align
	wantError(t, "last access of another worker", p, "memory of a is used again")
	// A root between the two is accessed by nothing, and so orders nothing. Another lies in the memory of
	// all, and begins before it.
	p = byHand([][]int{{4}, {4}, {4}, {32}}, [][]schedule.Op{{0, schedule.Signaling}, {1, 2, schedule.WaitOf(0), 3}}, []region.Access{access(0, 0, 4, perm.Write)},
		[]region.Access{access(1, 0, 4, perm.None)}, []region.Access{access(2, 0, 4, perm.Write)}, []region.Access{access(3, 0, 32, perm.Write)})
	p.Schedule.Waits = []schedule.Wait{{Worker: 0, Position: 2}}
	for i := range 3 {
		p.Roots[i].Place.Off = plan.Align
	}
	p.Roots[3].Place.Off, p.ArenaBytes = 0, 2*plan.Align
	wantError(t, "a root without accesses between", p, "memory of a is used again")
	p.Schedule.Queues[1] = []schedule.Op{schedule.WaitOf(0), 1, 2, 3}
	wantError(t, "waits for a", p, "")
}

// TestF20Partial writes a root as a whole, then a part of it, and then all of it by a worker that has waited
// for the second write only, which does not come after the first.
func TestF20Partial(t *testing.T) {
	t.Parallel()
	whole := []region.Access{access(0, 0, 4, perm.Write)}
	part := []region.Access{access(0, 0, 2, perm.Write)}
	p := byHand([][]int{{4}}, [][]schedule.Op{{0}, {1, 2}}, whole, part, whole)
	wantError(t, "part beside whole", p, "they touch the same elements")
	// The part waits for the whole and comes before what follows; elements that it does not touch have their
	// writer still.
	p = byHand([][]int{{4}}, [][]schedule.Op{{0}, {1}, {2}}, part, []region.Access{access(0, 2, 4, perm.Write)}, whole)
	p.Schedule.Waits = []schedule.Wait{{Worker: 1, Position: 2}}
	p.Schedule.Queues = [][]schedule.Op{{0}, {1, schedule.Signaling}, {schedule.WaitOf(0), 2}}
	wantError(t, "one part waited for", p, "they touch the same elements")
	p.Schedule.Waits = append(p.Schedule.Waits, schedule.Wait{Worker: 0, Position: 2})
	p.Schedule.Queues = [][]schedule.Op{{0, schedule.Signaling}, {1, schedule.Signaling}, {schedule.WaitOf(0), schedule.WaitOf(1), 2}}
	wantError(t, "both parts waited for", p, "")
}

// TestF20Handed fuses tasks that hand on a tensor with another number of elements than there are indices.
func TestF20Handed(t *testing.T) {
	t.Parallel()
	fused := func(n int) *plan.Plan {
		parts := []plan.Task{
			{Call: -1, Builtin: &plan.Builtin{Op: "op"}, Over: 4, Grain: 1, Elementwise: true, Access: []region.Access{access(0, 0, n, perm.Write)}},
			{Call: -1, Builtin: &plan.Builtin{Op: "op"}, Over: 4, Grain: 1, Elementwise: true, Access: []region.Access{access(1, 0, 4, perm.Write), access(0, 0, n, perm.Read)}},
		}
		p := byHand([][]int{{n}, {4}}, [][]schedule.Op{{0}}, []region.Access{access(0, 0, n, perm.Write), access(1, 0, 4, perm.Write)})
		p.Tasks[0] = plan.Task{Call: -1, Over: 4, Grain: 1, Access: p.Tasks[0].Access, Group: &plan.Group{Form: plan.Chain, Parts: parts}}
		return p
	}
	wantError(t, "4 elements", fused(4), "")
	wantError(t, "8 elements", fused(8), "want parts that share only elements of their indices, got parts 0 and 1")
	p := fused(4)
	p.Tasks[0].Group.Form, p.Tasks[0].Over = plan.Batch, 8
	wantError(t, "a batch", p, "want parts that share only elements of their indices, got parts 0 and 1")
}
