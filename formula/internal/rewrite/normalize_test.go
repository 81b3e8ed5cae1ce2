package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/internal/golden"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestNormalize rewrites the statements of uses. Tensors without a slot are temporaries.
func TestNormalize(t *testing.T) {
	for file, o := range map[string]Options{
		"testdata/loops.txt":  {Compute: dtype.F32},
		"testdata/device.txt": {Compute: dtype.F32, Device: true},
	} {
		golden.Test(t, file, func(u *program.Use) (string, error) {
			p, err := program.Build(u)
			if err != nil {
				return "", err
			}
			var tensors []Tensor
			for i, l := range p.Tensors {
				typ := map[term.Kind]dtype.Type{term.Real: dtype.F32, term.Integer: dtype.I64, term.Boolean: dtype.Bool}[l.Kind]
				if l.Slot >= 0 {
					typ = u.Slots[l.Slot].Tensors[0].Type
				}
				tensors = append(tensors, Tensor{Type: typ, Memory: i, Local: l.Slot < 0})
			}
			r, err := Normalize(p, p.Statements, tensors, o)
			if err != nil {
				return "", err
			}
			var out strings.Builder
			for _, s := range r.Statements {
				fmt.Fprintln(&out, &program.Statement{Target: s.Target, Left: s.Left, Vars: s.Vars, Value: s.Value, Add: s.Add, Guard: s.Guard})
			}
			for _, s := range r.Constants {
				fmt.Fprintf(&out, "constant %s\n", &program.Statement{Target: s.Target, Left: s.Left, Vars: s.Vars, Value: s.Value})
			}
			return out.String(), nil
		})
	}
}
