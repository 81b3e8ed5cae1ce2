package task_test

import (
	"testing"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// TestAsked writes and reads which gradients calls compute.
func TestAsked(t *testing.T) {
	s := &task.Signature{Params: []task.Param{{Slot: 0}, {Slot: 0, Grad: true, Perm: perm.Write}, {Slot: 2, Grad: true}, {Slot: 1, Grad: true, Perm: perm.Write}}}
	type gradient struct {
		present bool
		mode    tensor.Mode
	}
	for _, tt := range []struct {
		of   map[int][]gradient // by parameter
		want task.Asked
	}{
		{map[int][]gradient{1: {{true, tensor.Store}}, 3: {{true, tensor.Store}, {true, tensor.Store}}}, ""},
		{map[int][]gradient{1: {{true, tensor.Store}}, 3: nil}, "1,,"},
		{map[int][]gradient{1: {{false, tensor.Store}}, 3: {{true, tensor.Accumulate}, {true, tensor.Store}}}, "-,21,"},
	} {
		got := s.AskedOf(func(param int, f func(bool, tensor.Mode)) {
			for _, g := range tt.of[param] {
				f(g.present, g.mode)
			}
		})
		if got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.of, got, tt.want)
		}
		for param, list := range tt.of {
			for k, g := range list {
				if present, mode := got.Of(s, param, k); present != g.present || present && mode != g.mode {
					t.Errorf("%q: gradient %d of parameter %d is %v, %v, want %v", got, k, param, present, mode, g)
				}
			}
			if present, _ := got.Of(s, param, len(list)); present && got != "" {
				t.Errorf("%q has a gradient %d of parameter %d", got, len(list), param)
			}
		}
	}
}
