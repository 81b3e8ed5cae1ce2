package rewrite

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// TestClipped checks that conditions of an accumulation which bound an index by constants become its range,
// and that all others stay.
func TestClipped(t *testing.T) {
	nine := []*term.Term{term.Number(9)}
	p := &program.Program{Tensors: []*program.Local{{Name: "x", Shape: nine}, {Name: "y", Shape: nine}}}
	for _, c := range []struct {
		name   string
		guard  func(i, j *term.Term) *term.Term
		lo, hi int // of i
		kept   int // conditions
		plain  bool
	}{
		{"from above", func(i, _ *term.Term) *term.Term { return term.Compare(term.AtMost, i, term.Number(3)) }, 0, 4, 0, false},
		{"from below", func(i, _ *term.Term) *term.Term { return term.Compare(term.Less, term.Number(3), i) }, 4, 9, 0, false},
		{"from both, beside another", func(i, j *term.Term) *term.Term {
			return term.All(term.Compare(term.AtMost, term.Number(2), i), term.Compare(term.Less, i, j), term.Compare(term.Less, i, term.Number(7)))
		}, 2, 7, 1, false},
		{"beyond the range", func(i, _ *term.Term) *term.Term { return term.Compare(term.Less, i, term.Number(70)) }, 0, 9, 0, false},
		{"nothing left", func(i, _ *term.Term) *term.Term { return term.Compare(term.Less, i, term.Number(0)) }, 0, 9, 1, false},
		{"no accumulation", func(i, _ *term.Term) *term.Term { return term.Compare(term.Less, i, term.Number(3)) }, 0, 9, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			index := func(name string) *term.Variable {
				return &term.Variable{Name: name, Lo: term.Number(0), Hi: term.Number(9)}
			}
			read := func(tensor int, v *term.Variable) *term.Read {
				return &term.Read{Tensor: tensor, Count: 1, Idx: []*term.Term{v.Term()}, Ext: p.Tensors[tensor].Shape}
			}
			i, j := index("i"), index("j")
			s := &Statement{Target: 1, Left: read(1, j), Vars: []*term.Variable{j, i}, Value: &term.Term{Op: term.Element, Kind: term.Real, Read: read(0, i)},
				Guard: c.guard(i.Term(), j.Term()), Add: !c.plain}
			clipped(s)
			v := s.Vars[1]
			lo, _ := v.Lo.Known()
			hi, _ := v.Hi.Known()
			if lo != c.lo || hi != c.hi || len(term.Conjuncts(s.Guard)) != c.kept {
				t.Errorf("got %d to %d if %s, want %d to %d and %d conditions", lo, hi, s.Guard, c.lo, c.hi, c.kept)
			}
			if free := s.Value.Free(); !slices.Equal(free, []*term.Variable{v}) || s.Left.Idx[0].Var != s.Vars[0] {
				t.Errorf("the statement has %v and %s, want its own indices", free, s.Left.Idx[0])
			}
		})
	}
}
