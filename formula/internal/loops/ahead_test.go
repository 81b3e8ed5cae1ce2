package loops

import (
	"slices"
	"testing"
)

// TestAhead checks that the memory of each row is asked for once, before the row is computed, and that the
// index of rows stays as it is.
func TestAhead(t *testing.T) {
	for _, rows := range []int{0, 1, distance, distance + 1, 5 * distance} {
		var asked []int
		s := &state[float32]{vars: make([]int, 2)}
		code := &strip[float32]{ahead: []func(*state[float32], int){func(s *state[float32], n int) {
			if n != 7 || s.vars[0] != 3 {
				t.Errorf("want 7 elements of matrix 3, got %d of %d", n, s.vars[0])
			}
			asked = append(asked, s.vars[1])
		}}}
		fixed := func(n int) func(*state[float32]) int { return func(*state[float32]) int { return n } }
		p := &nest[float32]{[]loop[float32]{{place: 0, lo: fixed(3), hi: fixed(4)}, {place: 1, lo: fixed(2), hi: fixed(2 + rows)}}}
		row := 2
		p.each(s, 0, 0, 0, func(s *state[float32]) {
			p.ahead(s, code, 7, 0, 0)
			if s.vars[1] != row || !slices.Contains(asked, row) {
				t.Errorf("row %d of %d: the index is %d, and rows %v are asked for", row, rows, s.vars[1], asked)
			}
			row++
		})
		var want []int
		for i := range rows {
			want = append(want, 2+i)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("want rows %v, got %v", want, asked)
		}
		p.ahead(s, &strip[float32]{}, 7, 0, 0) // a strip whose places are known asks for nothing
		(&nest[float32]{}).ahead(s, code, 7, 0, 0)
		if !slices.Equal(asked, want) {
			t.Errorf("want nothing more, got %v", asked)
		}
	}
}
