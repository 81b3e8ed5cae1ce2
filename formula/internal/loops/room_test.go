package loops

import (
	"bytes"
	"math"
	"runtime/debug"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// productOfProduct returns code for y = transpose(x * w) * w. The product in between is a local tensor, of
// which all rows are there before the second product begins.
func productOfProduct(t *testing.T, n int) Code {
	t.Helper()
	p := &program.Program{Tensors: []*program.Local{reals("x", n, n), reals("w", n, n), reals("between", n, n), reals("y", n, n)}}
	product := func(to, a int, transposed bool) *program.Statement {
		r, c, s := index("r", n), index("c", n), index("s", n)
		row, col := r.Term(), s.Term()
		if transposed {
			row, col = col, row
		}
		return &program.Statement{Target: to, Left: readOf(p, to, r.Term(), c.Term()), Vars: []*term.Variable{r, c},
			Value: reduce(reduction.Sum, timesOf(elementOf(readOf(p, a, row, col)), elementOf(readOf(p, 1, s.Term(), c.Term()))), s)}
	}
	code, err := Compile(p, []*program.Statement{product(2, 0, false), product(3, 2, true)},
		[]rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Local: true, Memory: 2}, {Type: dtype.F32, Memory: 3}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if code.Groups() != 2 {
		t.Fatalf("want 2 groups, got %d", code.Groups())
	}
	return code
}

// withoutCollections keeps the collector from taking free rooms during a test.
func withoutCollections(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
}

// TestRooms runs tasks with a large local tensor: one after the other, at the same time, and after a run that
// ended before it was done. Their results are those of tasks with memory of their own, and they have no more
// rooms than tasks run at the same time.
func TestRooms(t *testing.T) {
	withoutCollections(t)
	defer func() { rooms = roomPool{} }()
	const n = 130 // 16,900 elements of four bytes
	code := productOfProduct(t, n)
	fresh := func(seed float64) [][]byte {
		out := [][]byte{make([]byte, 4*n*n), make([]byte, 4*n*n), nil, make([]byte, 4*n*n)}
		for m := range 2 {
			for i, x := 0, as[float32](out[m]); i < len(x); i++ {
				x[i] = float32(math.Sin(seed + float64(i*(m+1))))
			}
		}
		return out
	}
	run := func(r Runner, number uint64, group, lo, hi, total int) {
		t.Helper()
		if err := r.Run(group, group+1, Time{Run: number}, lo, hi, total); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(r Runner, number uint64) {
		t.Helper()
		for g := range 2 {
			run(r, number, g, 0, 2, 3)
			run(r, number, g, 2, 3, 3)
		}
	}
	var tasks []Runner
	var memory, want [][]byte
	for seed := range 2 {
		m := fresh(float64(seed))
		alone := code.Bind(m)
		whole(alone, 0)
		whole(alone, 0) // in the same room, which a run without a number keeps
		want = append(want, m[3])
		m = fresh(float64(seed))
		tasks, memory = append(tasks, code.Bind(m)), append(memory, m[3])
	}
	if len(rooms.free) > 0 {
		t.Errorf("runs without a number gave %d rooms back", len(rooms.free))
	}
	rooms = roomPool{}
	check := func(what string, free int) {
		t.Helper()
		for i := range tasks {
			if !bytes.Equal(memory[i], want[i]) {
				t.Errorf("%s: task %d: the result differs from that of a task with memory of its own", what, i)
			}
			clear(memory[i])
			if mem := tasks[i].(*runner[float32]).mem[2]; mem.same != nil {
				t.Errorf("%s: task %d has memory for its local tensor while it does not run", what, i)
			}
		}
		if got := len(rooms.free); got != free {
			t.Errorf("%s: want %d free rooms, got %d", what, free, got)
		}
	}
	whole(tasks[0], 1)
	whole(tasks[1], 1)
	check("one after the other", 1)

	run(tasks[0], 2, 0, 0, 1, 2)
	whole(tasks[1], 2)
	run(tasks[0], 2, 0, 1, 2, 2)
	run(tasks[0], 2, 1, 0, 1, 1)
	check("one during the other", 2)

	run(tasks[0], 3, 0, 0, 1, 1) // and no more
	run(tasks[0], 3, 1, 0, 1, 2)
	whole(tasks[0], 4)
	whole(tasks[1], 4)
	check("after a run that was not done", 2)
}

// TestRoomPool takes rooms of several sizes, and lets the collector take what nothing uses.
func TestRoomPool(t *testing.T) {
	withoutCollections(t)
	var p roomPool
	small, large := p.take(10), p.take(100)
	p.give(small)
	p.give(large)
	if got := p.take(50); len(got) != 100 {
		t.Errorf("50 words: want the room of 100, got %d", len(got))
	}
	if got := p.take(5); len(got) != 10 {
		t.Errorf("5 words: want the room of 10, got %d", len(got))
	}
	p.give(small)
	p.give(large)
	if got := p.take(200); len(got) != 200 || len(p.free) != 1 || len(p.free[0]) != 10 {
		t.Errorf("200 words: want a room in place of the largest, got %d, and %d others", len(got), len(p.free))
	}
	p.collected()
	if len(p.free) != 1 {
		t.Error("a collection after use took the free rooms")
	}
	p.collected()
	if len(p.free) != 0 || p.watched {
		t.Error("two collections without use left free rooms")
	}
	p.give(small)
	if !p.watched {
		t.Error("nothing watches collections after a room is given back")
	}
}
