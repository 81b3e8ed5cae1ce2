package example

import (
	"fmt"

	"github.com/opgen/opgen/internal/derive"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/spec"
)

// checkShards compares what a spec states about dividing dimensions among devices with what the formula gives, in a use of
// the operator. It reports a dimension once.
func (u *use) checkShards(p *program.Program, s *spec.Spec, example int, list *diag.List, reported map[string]bool) {
	if len(u.op.Shards) != len(s.Shards) {
		return
	}
	for i, stated := range u.op.Shards {
		if reported[stated.Dim] || stated.WhenX != nil && !u.truth(stated.WhenX) {
			continue
		}
		want := derive.Divided
		if stated.Partial {
			want = derive.Partial
		}
		for _, symbol := range symbols(stated.Dim, u.dims[stated.Dim]) {
			if got := derive.Divide(p, symbol); got != want {
				reported[stated.Dim] = true
				list.Add(diag.BadFormula, s.Shards[i].Dim.Span(), "dividing %s %v according to the spec, but %v according to the formula, as in example %d of %s",
					stated.Dim, want, got, example+1, u.op.Name)
				break
			}
		}
	}
}

// symbols returns the symbols of a dimension in a program whose extents are open: of a run, those of its dimensions that
// can be divided.
func symbols(name string, value any) []string {
	run, ok := value.([]int)
	if !ok {
		return []string{name}
	}
	var out []string
	for i, n := range run {
		if n > 1 {
			out = append(out, fmt.Sprintf("%s%d", name, i))
		}
	}
	return out
}
