package formula

import (
	"math"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// TestGradientsWithoutLoops computes a gradient that loops do not support twice with one kernel, whose cache
// must remember that. It compares it with the gradient of an equivalent formula that loops support.
func TestGradientsWithoutLoops(t *testing.T) {
	want := kernelOf(t, "p[n, k] = prod(n' in 0 .. n + 1: x[n', k])\ny[n, k] = w[n, k] * p[N - 1 - n, k]", true).run()
	got := kernelOf(t, "p[n, k] = prod(n' in 0 .. N - n: x[n', k])\ny[n, k] = w[n, k] * p[n, k]", false).run()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-12) {
			t.Errorf("gradient of x, element %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// boundKernel is a kernel of a backward task. Each run binds it again.
type boundKernel struct {
	*testing.T
	loopKernel
	r *task.Resolution
	a task.Attrs
}

// kernelOf returns a kernel that has computed the gradient of x once, and checks whether it ran loops or the
// interpreter.
func kernelOf(t *testing.T, text string, loops bool) *boundKernel {
	t.Helper()
	o, at, r := operatorWith(t, text)
	s := &task.Signature{Operator: o, Task: "backward", Kind: task.KindBackward, Steps: []task.Step{{}}, Params: []task.Param{
		{Slot: slotX, Perm: perm.Read}, {Slot: slotW, Perm: perm.Read}, {Slot: slotX, Grad: true, Perm: perm.Write}, {Slot: slotY, Grad: true, Perm: perm.Read}}}
	o.Signatures = []*task.Signature{s}
	k := &boundKernel{t, loopKernel{s, &uses{}}, r, at}
	k.run()
	for _, u := range k.uses.recent {
		if u.code != nil != loops {
			t.Fatalf("%s: want loops: %v, got %v", text, loops, u.why)
		}
	}
	return k
}

// run binds the kernel to memory and returns the gradient of x.
func (k *boundKernel) run() []float64 {
	k.Helper()
	memory := memoryOf(k.r)
	x, w := testValues()
	copy(as[float64](memory(slotX, false)[0].Bytes), x)
	copy(as[float64](memory(slotW, false)[0].Bytes), w)
	for i := range x {
		as[float64](memory(slotY, true)[0].Bytes)[i] = float64(i%5) - 1.5
	}
	bodies, err := k.bind(&task.Accessor{Signature: k.signature, Attrs: k.a, Resolved: k.r, Memory: memory})
	if err != nil {
		k.Fatal(err)
	}
	if err := bodies[0].Run(&op.Ctx{Run: op.NextRun()}, op.Range{Hi: k.r.Work(0, 0).Over}); err != nil {
		k.Fatal(err)
	}
	return as[float64](memory(slotX, true)[0].Bytes)
}
