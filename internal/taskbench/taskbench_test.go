package taskbench

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// find returns an operator of the catalogue, and its kernels.
func find(t *testing.T, name string) (*task.Operator, *task.Registry) {
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		t.Fatal(err)
	}
	all := catalogue.Operators()
	return &all[slices.IndexFunc(all, func(o *graph.Operator) bool { return o.Name == name })].Operator, &r
}

// TestRun runs a task on one worker and on several, on the same inputs.
func TestRun(t *testing.T) {
	t.Parallel()
	o, tasks := find(t, "softmax")
	var sums [2][]float32
	for i, workers := range []int{1, 3} {
		u, err := New(o, `{"dim": 1}`, map[string][]int{"input": {7, 5}}, -1, workers)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := u.Bind(0, tasks)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
		}
		out := make([]float32, 35)
		if _, err := binary.Decode(u.Memory(1, false)[0].Bytes, binary.LittleEndian, out); err != nil {
			t.Fatal(err)
		}
		var sum float32
		for _, v := range out[:5] {
			sum += v
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("a row of the softmax sums to %v", sum)
		}
		sums[i] = out
	}
	if !slices.Equal(sums[0], sums[1]) {
		t.Errorf("one worker computes %v, three compute %v", sums[0], sums[1])
	}
}

// TestTypes checks that attributes decide element types, and that others are the usual ones.
func TestTypes(t *testing.T) {
	t.Parallel()
	o, _ := find(t, "cast")
	u, err := New(o, `{"dtype": "f64"}`, map[string][]int{"input": {4}}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if in, out := u.Memory(0, false)[0].Type, u.Memory(1, false)[0].Type; in != dtype.F32 || out != dtype.F64 {
		t.Errorf("want f32 and f64, got %v and %v", in, out)
	}
	o, _ = find(t, "embedding")
	if u, err = New(o, `{"num_entries": 3, "out_channels": 2}`, map[string][]int{"input": {50}}, 0, 1); err != nil {
		t.Fatal(err)
	}
	m := u.Memory(0, false)[0]
	indices := make([]int64, 50)
	if _, err := binary.Decode(m.Bytes, binary.LittleEndian, indices); err != nil || m.Type != dtype.I64 {
		t.Fatal(m.Type, err)
	}
	if slices.Min(indices) < 0 || slices.Max(indices) != 2 {
		t.Errorf("want indices from 0 to 2, got %v", indices)
	}
	if _, err := u.Bind(0, &task.Registry{}); err == nil || !strings.Contains(err.Error(), "want a registered task") {
		t.Errorf("an empty registry: got %v", err)
	}
}
