package arena

import "testing"

// TestArena makes slices of many lengths: they are zero, share no memory, and appending to one does not
// change another.
func TestArena(t *testing.T) {
	var a Arena[int]
	var made [][]int
	for i := range 300 {
		n := i * i % 97
		if i == 200 {
			n = most + 1
		}
		s := a.Make(n)
		if s == nil || len(s) != n || cap(s) != n {
			t.Fatalf("Make(%d) = %v with room for %d", n, s, cap(s))
		}
		for k := range s {
			if s[k] != 0 {
				t.Fatalf("slice %d: element %d is %d", i, k, s[k])
			}
			s[k] = i + 1
		}
		_ = append(s, -1)
		made = append(made, s)
	}
	for i, s := range made {
		for k, v := range s {
			if v != i+1 {
				t.Fatalf("slice %d: element %d is %d", i, k, v)
			}
		}
	}
	in := []int{3, 4}
	if c := a.Copy(in); len(c) != 2 || c[0] != 3 || c[1] != 4 || &c[0] == &in[0] {
		t.Errorf("Copy(%v) = %v", in, c)
	}
	if c := a.Copy(nil); c == nil || len(c) != 0 {
		t.Errorf("Copy(nil) = %v", c)
	}
}
