package example

import (
	"github.com/opgen/opgen/internal/derive"
	"github.com/opgen/opgen/internal/program"
)

// checkShards compares what a spec states about dividing dimensions among devices with what the formula gives.
func (t *trial) checkShards(v *view) {
	for i, stated := range v.op.Shards {
		if i >= len(t.spec.Shards) || stated.WhenX != nil && !v.truth(stated.WhenX) {
			continue
		}
		want := derive.Divided
		if stated.Partial {
			want = derive.Partial
		}
		for _, symbol := range symbols(stated.Dim, v.dims[stated.Dim]) {
			if got := derive.Divide(v.program, symbol); got != want {
				t.contradict(t.spec.Shards[i].Dim.Span(), "dividing %s of %s %v according to the spec, but %v according to the formula",
					v, stated.Dim, v.op.Name, want, got)
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
			out = append(out, program.SymbolOf(name, i))
		}
	}
	return out
}
