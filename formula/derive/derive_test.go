package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/golden"
	"github.com/opgen/opgen/formula/program"
)

// TestGradients derives gradients, which print as formulas.
func TestGradients(t *testing.T) {
	golden.Test(t, "testdata/gradients.txt", func(u *program.Use) (string, error) {
		p, err := program.Build(u)
		if err != nil {
			return "", err
		}
		g, err := derive.Gradients(p, golden.Outputs(p))
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for i, s := range g.Statements {
			if r := s.Recurrence; r != nil && program.Together(g.Statements, i)[0] == s {
				fmt.Fprintf(&out, "over %s, %s:\n", s.Over.Name, map[bool]string{false: "up", true: "down"}[r.Down])
			}
			if s.Recurrence != nil {
				out.WriteString("  ")
			}
			fmt.Fprintln(&out, s)
		}
		for _, t := range slices.Sorted(maps.Keys(g.Scatter)) {
			if g.Scatter[t] {
				fmt.Fprintf(&out, "the gradient of %s starts at 0\n", p.Tensors[t].Name)
			}
		}
		return out.String(), nil
	})
}

// TestFacts derives the properties that follow from a formula: operations, how each dimension divides, which
// memory outputs may share, and what gradients read.
func TestFacts(t *testing.T) {
	golden.Test(t, "testdata/facts.txt", func(u *program.Use) (string, error) {
		u.Open = true
		p, err := program.Build(u)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		extents := map[string]int{}
		for d, n := range u.Dims {
			extents[d] = n.(int)
		}
		flops := derive.Flops(p.Statements, true)
		fmt.Fprintf(&out, "operations: %s = %g\n", flops, derive.Evaluate(flops, extents))
		for _, d := range slices.Sorted(maps.Keys(u.Dims)) {
			fmt.Fprintf(&out, "%s: %s\n", d, derive.Divide(p, d))
		}
		outputs := golden.Outputs(p)
		for _, o := range outputs {
			for i, l := range p.Tensors {
				if !l.Given && l.Slot >= 0 && l.Kind == p.Tensors[o].Kind && derive.Size(l) == derive.Size(p.Tensors[o]) {
					fmt.Fprintf(&out, "%s in the memory of %s: %s\n", p.Tensors[o].Name, l.Name, sharing[derive.InPlace(p, p.Statements, o, i)])
				}
			}
		}
		g, err := derive.Gradients(p, outputs)
		if err != nil {
			return "", err
		}
		reads := []string{"nothing"}
		for _, slot := range slices.Sorted(maps.Keys(g.Reads())) {
			reads = append(reads, u.Slots[slot].Name)
		}
		reads = reads[min(1, len(reads)-1):]
		fmt.Fprintf(&out, "gradients read: %s\n", strings.Join(reads, ", "))
		return out.String(), nil
	})
}

var sharing = map[derive.Sharing]string{
	derive.Apart: "no", derive.Reordered: "if statements are reordered", derive.Behind: "once a larger tensor is complete",
	derive.InOrder: "yes", derive.SameElements: "yes, the same elements",
}
