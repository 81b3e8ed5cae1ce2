package partition

import (
	"errors"
	"slices"
	"testing"
)

// TestF20StrongerAccess launches with two stores of one size that are partitioned alike. Each holds a
// partition already. That of the store with the stronger access stays, whatever the order of the stores.
func TestF20StrongerAccess(t *testing.T) {
	t.Parallel()
	align := Constraint{Kind: Align, Terms: []Term{At("inputs", 0), At("outputs", 0)}}
	d := NewDeclaration("copy").SetCount("inputs", Exactly(1)).SetCount("outputs", Exactly(1)).SetConstraints(align)
	float := Element{Name: "f32", Bytes: 4}
	for _, tiles := range [][2][]int{{{8, 4}, {2, 16}}, {{2, 16}, {8, 4}}} {
		read := &Store{Name: "read", Shape: []int{8, 16}, Element: float, Held: &Held{Tile: tiles[0], Pieces: 4}}
		written := &Store{Name: "written", Shape: []int{8, 16}, Element: float, Held: &Held{Tile: tiles[1], Pieces: 4}}
		l := New(d)
		if err := errors.Join(l.Add("inputs", read), l.Add("outputs", written)); err != nil {
			t.Fatal(err)
		}
		s, err := l.Solve(Machine{Kind: "cpu", Procs: 4})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if p := s.Argument(i); !slices.Equal(p.Tile, written.Held.Tile) {
				t.Errorf("%s has tiles of %v, want those of the store that is written, %v", p.Store.Name, p.Tile, written.Held.Tile)
			}
		}
	}
}

// TestHeldDecides launches with two stores of one size that are partitioned alike. Only one holds a
// partition, which stays, whatever the accesses and the order of the stores.
func TestHeldDecides(t *testing.T) {
	t.Parallel()
	align := Constraint{Kind: Align, Terms: []Term{At("inputs", 0), At("outputs", 0)}}
	d := NewDeclaration("copy").SetCount("inputs", Exactly(1)).SetCount("outputs", Exactly(1)).SetConstraints(align)
	float := Element{Name: "f32", Bytes: 4}
	held := &Held{Tile: []int{8, 4}, Pieces: 4}
	for _, holder := range []string{"inputs", "outputs"} {
		l := New(d)
		for _, slot := range []string{"inputs", "outputs"} {
			s := &Store{Name: slot, Shape: []int{8, 16}, Element: float}
			if slot == holder {
				s.Held = held
			}
			if err := l.Add(slot, s); err != nil {
				t.Fatal(err)
			}
		}
		s, err := l.Solve(Machine{Kind: "cpu", Procs: 4})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if p := s.Argument(i); !slices.Equal(p.Tile, held.Tile) {
				t.Errorf("%s hold a partition: %s has tiles of %v, want %v", holder, p.Store.Name, p.Tile, held.Tile)
			}
		}
	}
}
