package cugen

import (
	"testing"

	"github.com/opgen/opgen/formula/internal/golden"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestCode compiles uses to CUDA C++.
func TestCode(t *testing.T) {
	golden.Test(t, "testdata/code.txt", func(u *program.Use) (string, error) {
		p, err := program.Build(u)
		if err != nil {
			return "", err
		}
		tensors := make([]rewrite.Tensor, len(p.Tensors))
		for i, l := range p.Tensors {
			tensors[i] = rewrite.Tensor{Type: dtype.F32, Memory: i, Local: l.Slot < 0}
			if l.Slot >= 0 {
				tensors[i].Type = u.Slots[l.Slot].Tensors[l.Number].Type
			}
		}
		aligned := func(int) bool { return true }
		code, err := Compile("test", p, p.Statements, tensors, aligned, nil, nil, LeastProduct)
		if err != nil {
			return "", err
		}
		return string(code.Source), nil
	})
}
