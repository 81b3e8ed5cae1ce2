package formula

import (
	"fmt"
	"testing"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// TestShares lists into how many shares groups of loops are cut at most: 0 for any number. A sum over columns
// takes an eighth of its group only if that also has a product that is large enough.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text string
		rows int
		cols int
		want string
	}{
		{"c[k] = max(n: x[n, k])\ny[n, k] = c[k]", 50, 1100, "[4 0]"},
		{"c[k] = max(n: x[n, k])\ny[n, k] = c[k]", 500, 64, "[1 0]"},
		{"s[n] = max(k: x[n, k])\ny[n, k] = s[n]", 50, 300, "[0]"},
		{"y[n, k] = 2 * x[n, k]", 50, 300, "[0]"},
		{"y[n, k] = sum(k': x[n, k'] * x[k', k])", 80, 80, "[5]"},
		{"y[n, k] = sum(n': x[n', n] * x[n', k])", 128, 128, "[8]"},
		{"s[n] = sum(n': x[n', n])\ny[n, k] = sum(n': x[n', n] * x[n', k]) + s[n]", 128, 128, "[4]"},
		{"s[n] = sum(n': x[n', n])\ny[n, k] = sum(n': x[n', n] * x[n', k]) + s[n]", 64, 64, "[2]"},
		{"y[n, k] = n == 0 ? x[n, k] : y[n - 1, k] + x[n, k]", 50, 4000, "[3]"},
		{"y[n, k] = k == 0 ? x[n, k] : y[n, k - 1] + x[n, k]", 300, 40, "[1]"},
	} {
		o, at, r := operatorOf(t, x.text, dtype.F32, x.rows, x.cols)
		s := &task.Signature{Operator: o, Task: "forward", Kind: task.KindForward, Steps: []task.Step{{}, {}}, Params: []task.Param{
			{Slot: slotX, Perm: perm.Read}, {Slot: slotY, Perm: perm.Write}}}
		o.Signatures, r.Grids = []*task.Signature{s}, [][]op.Grid{{*op.Line(3000, 200), *op.Line(3000, 200)}}
		bodies, err := loopKernel{s, &uses{}}.bind(&task.Accessor{Signature: s, Attrs: at, Resolved: r, Memory: memoryOf(r)})
		if err != nil {
			t.Fatal(err)
		}
		got := []int{}
		for _, b := range bodies {
			if l, ok := b.(*loopBody); ok {
				got = append(got, l.parts...)
			}
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%s of %d x %d: want %s, got %v", x.text, x.rows, x.cols, x.want, got)
		}
	}
}

// sharesRunner notes the shares that run.
type sharesRunner struct{ ran []string }

func (r *sharesRunner) Run(first, end int, _ loops.Time, lo, hi, total int) error {
	r.ran = append(r.ran, fmt.Sprintf("%d..%d: %d..%d of %d", first, end, lo, hi, total))
	return nil
}

// TestWholeParts runs ranges of steps: those of a group that is cut into few parts run whole parts or
// nothing, and others what they are.
func TestWholeParts(t *testing.T) {
	t.Parallel()
	r := &sharesRunner{}
	b := &loopBody{run: r, from: 1, to: 2, total: 10, parts: []int{3}}
	for lo := 0; lo < 10; lo += 2 {
		if err := b.Run(&op.Ctx{}, op.Range{Lo: lo, Hi: lo + 2}); err != nil {
			t.Fatal(err)
		}
	}
	b.parts = []int{0}
	if err := b.RunPhase(&op.Ctx{}, 0, op.Range{Lo: 4, Hi: 6}); err != nil {
		t.Fatal(err)
	}
	b.from, b.parts = 0, []int{3, 3}
	if err := b.Run(&op.Ctx{}, op.Range{Hi: 10}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(r.ran), "[1..2: 0..1 of 3 1..2: 1..2 of 3 1..2: 2..3 of 3 1..2: 4..6 of 10 0..2: 0..1 of 1]"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

// TestBoundParts binds a task that reduces over columns and then goes over all elements: its first group is
// cut into two parts at most. A step that is declared elementwise is cut as asked.
func TestBoundParts(t *testing.T) {
	t.Parallel()
	for _, elementwise := range []bool{false, true} {
		o, at, r := operatorOf(t, "c[k] = max(n: x[n, k])\ny[n, k] = c[k] * w[n, k]", dtype.F64, 5, 600)
		s := &task.Signature{Operator: o, Task: "forward", Kind: task.KindForward, Steps: []task.Step{{Elementwise: elementwise}}, Params: []task.Param{
			{Slot: slotX, Perm: perm.Read}, {Slot: slotW, Perm: perm.Read}, {Slot: slotY, Perm: perm.Write}}}
		o.Signatures, r.Grids = []*task.Signature{s}, [][]op.Grid{{*op.Line(3000, 200)}}
		bodies, err := loopKernel{s, &uses{}}.bind(&task.Accessor{Signature: s, Attrs: at, Resolved: r, Memory: memoryOf(r)})
		if err != nil {
			t.Fatal(err)
		}
		want := "[2 0]"
		if elementwise {
			want = "[]"
		}
		if got := fmt.Sprint(bodies[0].(*loopBody).parts); got != want {
			t.Errorf("elementwise %v: want parts %s, got %s", elementwise, want, got)
		}
	}
}
