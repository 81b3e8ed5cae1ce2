package loops

import (
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// TestClipped checks that conditions of an accumulation which bound an index by constants become its range,
// and that all others stay.
func TestClipped(t *testing.T) {
	p := &program.Program{Tensors: []*program.Local{reals("x", 9), reals("y", 9)}}
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
			i, j := index("i", 9), index("j", 9)
			s := &statement{target: 1, left: readOf(p, 1, j.Term()), vars: []*term.Variable{j, i}, value: elementOf(readOf(p, 0, i.Term())),
				guard: c.guard(i.Term(), j.Term()), add: !c.plain}
			clipped(s)
			v := s.vars[1]
			lo, _ := v.Lo.Known()
			hi, _ := v.Hi.Known()
			if lo != c.lo || hi != c.hi || len(term.Conjuncts(s.guard)) != c.kept {
				t.Errorf("got %d to %d if %s, want %d to %d and %d conditions", lo, hi, s.guard, c.lo, c.hi, c.kept)
			}
			if free := s.value.Free(); !slices.Equal(free, []*term.Variable{v}) || s.left.Idx[0].Var != s.vars[0] {
				t.Errorf("the statement has %v and %s, want its own indices", free, s.left.Idx[0])
			}
		})
	}
}
