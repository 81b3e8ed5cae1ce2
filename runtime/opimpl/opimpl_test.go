package opimpl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/task"
)

// TestVersion compiles code of the supported generations, and of those before and after them.
func TestVersion(t *testing.T) {
	const overflows = "overflows opimpl.EnforceVersion"
	for _, c := range []struct {
		version int
		want    string
	}{{opimpl.MinVersion, ""}, {opimpl.MaxVersion, ""}, {opimpl.MinVersion - 1, overflows}, {opimpl.MaxVersion + 1, overflows}} {
		file := filepath.Join(t.TempDir(), "p.go")
		code := fmt.Sprintf("package p\n\nimport \"github.com/opgen/opgen/runtime/opimpl\"\n\nconst _ = opimpl.EnforceVersion(%d-opimpl.MinVersion) + opimpl.EnforceVersion(opimpl.MaxVersion-%[1]d)\n", c.version)
		if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "build", file).CombinedOutput()
		if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
			t.Errorf("generation %d: %v\n%s\nwant %q", c.version, err, out, c.want)
		}
	}
}

// TestInvoke binds tasks to tensors that are given by name.
func TestInvoke(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	a := linear.Defaults(4)
	y := linear.Apply(g, a, x)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	n := y.Node()
	w, b := opimpl.Tensor(n, linear.SlotWeight), opimpl.Tensor(n, linear.SlotBias)
	inv, err := linear.ForwardTensors{Input: x, Weight: w, Bias: b, Output: y}.Invoke(n)
	if err != nil {
		t.Fatal(err)
	}
	own, err := n.Invoke()
	if err != nil || fmt.Sprint(inv.Operands) != fmt.Sprint(own.Operands) {
		t.Errorf("bound by name %v, by the node %v, %v", inv.Operands, own.Operands, err)
	}
	if _, err := (linear.ForwardTensors{Input: x, Weight: w, Bias: b}).Invoke(n); err == nil || !strings.Contains(err.Error(), "slot output: want a tensor, got no tensor") {
		t.Errorf("without output: %v", err)
	}
	if _, err := opimpl.Open(n, task.KindUpdate, linear.ForwardTensors{}); err == nil || !strings.Contains(err.Error(), "want an operator with a task of kind update") {
		t.Errorf("a task that does not exist: %v", err)
	}
}

// TestResolveWrongAttrs applies an operator to attributes of another.
func TestResolveWrongAttrs(t *testing.T) {
	o := &softmax.Operator.Operator
	_, err := task.Resolve(o, linear.Defaults(1).WithUseBias(false), task.NoneGiven(o))
	if want := "operator softmax: want attributes of type softmax.Attrs, got linear.Attrs"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestSlotName prints slots, also numbers that are none.
func TestSlotName(t *testing.T) {
	if got := fmt.Sprint(softmax.SlotOutput, softmax.Slot(7), softmax.Slot(-1)); got != "output Slot(7) Slot(-1)" {
		t.Errorf("slots print as %s", got)
	}
}
