package onekernel

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// random returns a plan of tasks that access parts of tensors which share an arena, and items of the tasks.
func random(r *rand.Rand) (*plan.Plan, []Item) {
	p := &plan.Plan{Name: "random"}
	for i := range 2 + r.IntN(6) {
		root := plan.Root{Name: fmt.Sprint("t", i), Type: dtype.F32, Shape: []int{1 + r.IntN(4), 1 + r.IntN(4)}}
		bytes := int64(4 * root.Shape[0] * root.Shape[1])
		root.Place = region.Place{Off: 4 * int64(r.IntN(40)), Bytes: bytes}
		if r.IntN(4) == 0 {
			root.Place = region.Place{Space: region.Variable, Bytes: bytes}
		}
		p.Roots = append(p.Roots, root)
	}
	var items []Item
	for t := range 1 + r.IntN(12) {
		var x plan.Task
		for range r.IntN(4) {
			root := r.IntN(len(p.Roots))
			var box region.Box
			for _, n := range p.Roots[root].Shape {
				lo := r.IntN(n + 1)
				box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, lo+r.IntN(n-lo+1))
			}
			a := region.Access{Region: region.Region{Root: region.Root(root), Box: box}, Perm: []perm.Perm{perm.None, perm.Read, perm.Write, perm.ReadWrite}[r.IntN(4)]}
			x.Access = append(x.Access, a)
		}
		if t > 0 && r.IntN(5) == 0 {
			x.After = []int{r.IntN(t)}
		}
		p.Tasks = append(p.Tasks, x)
		for range r.IntN(3) {
			items = append(items, Item{Body: r.IntN(5), Task: t, Blocks: [3]uint32{uint32(1 + r.IntN(9)), 1, 1}, Args: make([]uint64, r.IntN(3))})
		}
	}
	return p, items
}

// cells returns what a task reads and writes: bytes of the arena, and of variables by root.
func cells(p *plan.Plan, t int) (reads, writes map[[2]int]bool) {
	reads, writes = map[[2]int]bool{}, map[[2]int]bool{}
	for _, a := range p.Tasks[t].Access {
		r := &p.Roots[a.Root]
		for i := a.Lo[0]; i < a.Hi[0]; i++ {
			for k := a.Lo[1]; k < a.Hi[1]; k++ {
				at := [2]int{-1, int(r.Place.Off)/4 + i*r.Shape[1] + k}
				if r.Place.Space == region.Variable {
					at[0] = int(a.Root)
				}
				if a.Perm == perm.Read || a.Perm == perm.ReadWrite {
					reads[at] = true
				}
				if a.Perm.Writes() {
					writes[at] = true
				}
			}
		}
	}
	return reads, writes
}

// meet reports, by enumeration, whether two tasks access a cell that one of them writes.
func meet(p *plan.Plan, t, u int) bool {
	tr, tw := cells(p, t)
	ur, uw := cells(p, u)
	for c := range tw {
		if ur[c] || uw[c] {
			return true
		}
	}
	for c := range uw {
		if tr[c] {
			return true
		}
	}
	return false
}

// TestOrder compares what items need with all cells that tasks access. What items need is enough. The table
// passes, and with any item that needs less than the cells ask for, it does not.
func TestOrder(t *testing.T) {
	refused := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 180))
		p, items := random(r)
		Order(p, items)
		over := -1
		for k := range items {
			if over = max(over, items[k].Need); items[k].Need >= k {
				t.Fatalf("seed %d: item %d needs item %d", seed, k, items[k].Need)
			}
			for i := over + 1; i < k; i++ {
				if items[i].Task == items[k].Task || meet(p, items[i].Task, items[k].Task) {
					t.Fatalf("seed %d: item %d needs %d, not item %d", seed, k, items[k].Need, i)
				}
			}
		}
		table, args := Encode(items)
		if err := Check(p, 5, items, table, args); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k := range items {
			at := k*ItemBytes + 16
			was := binary.LittleEndian.Uint64(table[at:])
			need := items[k].Need - 1 - r.IntN(3)
			if need < -1 {
				continue
			}
			binary.LittleEndian.PutUint64(table[at:], uint64(int64(need)))
			err := Check(p, 5, items, table, args)
			binary.LittleEndian.PutUint64(table[at:], was)
			over := need
			for i := range k {
				over = max(over, items[i].Need)
			}
			want := false
			for i := over + 1; i < k; i++ {
				want = want || items[i].Task == items[k].Task || meet(p, items[i].Task, items[k].Task)
			}
			if err == nil && want {
				t.Fatalf("seed %d: a table whose item %d needs %d only passes", seed, k, need)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused < 1000 {
		t.Errorf("%d tables were refused", refused)
	}
}

// TestForged changes each byte of tables. No changed table passes, but for arguments that are the step.
func TestForged(t *testing.T) {
	forged := 0
	for seed := range uint64(200) {
		p, items := random(rand.New(rand.NewPCG(seed, 181)))
		Order(p, items)
		for k := range items {
			for i := range items[k].Args {
				items[k].Args[i] = seed + uint64(i)
			}
		}
		table, args := Encode(items)
		for i := range table {
			if i%ItemBytes >= 16 && i%ItemBytes < 24 {
				continue // what it needs: TestOrder
			}
			table[i] ^= 1 << (i % 8)
			if err := Check(p, 5, items, table, args); err == nil {
				t.Fatalf("seed %d: a table with another byte %d of an item passes", seed, i%ItemBytes)
			}
			table[i] ^= 1 << (i % 8)
			forged++
		}
		for i := range args {
			args[i] ^= 1
			if err := Check(p, 5, items, table, args); err == nil {
				t.Fatalf("seed %d: a table with another argument passes", seed)
			}
			args[i] ^= 1
			forged++
		}
		if len(items) > 0 {
			if err := Check(p, 5, items, table[:len(table)-1], args); err == nil {
				t.Fatalf("seed %d: a table without its end passes", seed)
			}
			if err := Check(p, 5, items[:len(items)-1], table, args); err == nil {
				t.Fatalf("seed %d: a table with one more item passes", seed)
			}
		}
	}
	if forged < 1000 {
		t.Errorf("%d forged tables", forged)
	}
}

// TestLater wants no item to need itself or a later one, for which all workers would wait.
func TestLater(t *testing.T) {
	p := &plan.Plan{Name: "two", Tasks: make([]plan.Task, 2)}
	items := []Item{{Task: 0, Blocks: [3]uint32{1, 1, 1}}, {Task: 1, Blocks: [3]uint32{1, 1, 1}}}
	Order(p, items)
	for _, need := range []int{0, 1, 5} {
		items[0].Need = need
		table, args := Encode(items)
		if err := Check(p, 1, items, table, args); err == nil || !strings.Contains(err.Error(), "to need an earlier item") {
			t.Errorf("item 0 needs %d: got %v", need, err)
		}
	}
}

// TestSource wants a kernel to have all bodies, and memory for each type once.
func TestSource(t *testing.T) {
	s := Source([]Body{{"a_on", "m"}, {"b_on", "n"}, {"c_on", "m"}})
	for text, n := range map[string]int{"case 0: a_on(grid, args); break;": 1, "case 2: c_on(grid, args); break;": 1, "\tm m0;": 1, "\tn m1;": 1, "m m2": 0, "@": 0} {
		if got := strings.Count(s, text); got != n {
			t.Errorf("%q stands there %d times, want %d", text, got, n)
		}
	}
}
