package region

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/opgen/opgen/runtime/perm"
)

// regions returns all boxes in an index space of the given rank with bounds from 0 to 3, also empty
// and inverted ones.
func regions(root Root, rank int) []Region {
	all := []Region{{Root: root}}
	for range rank {
		var next []Region
		for _, r := range all {
			for lo := range 4 {
				for hi := range 4 {
					next = append(next, Region{root, Box{append(append([]int{}, r.Lo...), lo), append(append([]int{}, r.Hi...), hi)}})
				}
			}
		}
		all = next
	}
	return all
}

// points returns the elements of a region.
func points(r Region) map[string]bool {
	out := map[string]bool{fmt.Sprint(r.Root): true}
	for d := range r.Lo {
		next := map[string]bool{}
		for p := range out {
			for i := r.Lo[d]; i < r.Hi[d]; i++ {
				next[fmt.Sprint(p, " ", i)] = true
			}
		}
		out = next
	}
	return out
}

func TestRegionsAgainstPoints(t *testing.T) {
	for rank := range 3 {
		all := append(regions(1, rank), Region{2, Box{make([]int, rank), []int{3, 3}[:rank]}})
		elements := make([]map[string]bool, len(all))
		for i, r := range all {
			elements[i] = points(r)
			if got, want := r.Empty(), len(elements[i]) == 0; got != want {
				t.Errorf("%v.Empty() = %v", r, got)
			}
			if got := r.Volume(); got != len(elements[i]) {
				t.Errorf("%v has the volume %d, want %d", r, got, len(elements[i]))
			}
		}
		for i, r := range all {
			for j, s := range all {
				common := 0
				for p := range elements[i] {
					if elements[j][p] {
						common++
					}
				}
				if got := r.Overlaps(s); got != (common > 0) {
					t.Errorf("%v.Overlaps(%v) = %v", r, s, got)
				}
				if got := r.Contains(s); got != (common == len(elements[j])) {
					t.Errorf("%v.Contains(%v) = %v", r, s, got)
				}
				if r.Root == s.Root {
					if got := r.Intersect(s.Box).Volume(); got != common {
						t.Errorf("%v and %v have %d elements in common, want %d", r, s, got, common)
					}
				}
			}
		}
	}
}

func TestWhole(t *testing.T) {
	shape := []int{2, 3}
	r := Whole(4, shape)
	if r.String() != "4[0:2, 0:3]" {
		t.Errorf("Whole = %v", r)
	}
	shape[0] = 9
	if r.Hi[0] != 2 {
		t.Error("Whole shares the shape's memory")
	}
	if s := Whole(0, nil); s.Empty() || !s.Overlaps(s) || !s.Contains(s) || s.String() != "0[]" {
		t.Errorf("the region of a scalar is %v", s)
	}
	if Whole(0, []int{2, 0}).Empty() == false {
		t.Error("a region without elements is not empty")
	}
}

// TestConflicts checks which pairs of accesses must be ordered.
func TestConflicts(t *testing.T) {
	left, right, all := Region{0, Box{[]int{0}, []int{2}}}, Region{0, Box{[]int{2}, []int{4}}}, Region{0, Box{[]int{0}, []int{4}}}
	tests := []struct {
		a, b Access
		want bool
	}{
		{Access{Region: all, Perm: perm.Read}, Access{Region: all, Perm: perm.Read}, false},
		{Access{Region: all, Perm: perm.Read}, Access{Region: left, Perm: perm.Write}, true},
		{Access{Region: left, Perm: perm.Write}, Access{Region: right, Perm: perm.Write}, false},
		{Access{Region: all, Perm: perm.Write}, Access{Region: all, Perm: perm.Write}, true},
		{Access{Region: all, Perm: perm.None}, Access{Region: all, Perm: perm.Write}, false},
		{Access{Region: all, Perm: perm.Scratch}, Access{Region: all, Perm: perm.Read}, true},
		{Access{Region: all, Perm: perm.Scratch}, Access{Region: all, Perm: perm.Scratch}, true},
		{Access{Region: all, Perm: perm.Reduce, Redop: perm.Sum}, Access{Region: left, Perm: perm.Reduce, Redop: perm.Sum}, true},
		{Access{Region: all, Perm: perm.Reduce, Redop: perm.Sum}, Access{Region: left, Perm: perm.Reduce, Redop: perm.Max}, true},
		{Access{Region: all, Perm: perm.Reduce, Redop: perm.Sum}, Access{Region: left, Perm: perm.Read}, true},
		{Access{Region: all, Perm: perm.ReadWrite}, Access{Region: Whole(1, []int{4}), Perm: perm.ReadWrite}, false},
	}
	conflict := func(a, b Access) bool {
		return a.Overlaps(b.Region) && perm.Conflict(a.Perm, b.Perm)
	}
	for _, tt := range tests {
		if conflict(tt.a, tt.b) != tt.want || conflict(tt.b, tt.a) != tt.want {
			t.Errorf("%v %v and %v %v: conflict %v, want %v", tt.a.Perm, tt.a, tt.b.Perm, tt.b, !tt.want, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for a := range int64(5) {
		for n := range int64(4) {
			for b := range int64(5) {
				for m := range int64(4) {
					want := false
					for i := a; i < a+n; i++ {
						want = want || b <= i && i < b+m
					}
					p, q := Place{Arena, a, n}, Place{Arena, b, m}
					if p.Overlaps(q) != want {
						t.Errorf("%v.Overlaps(%v) = %v", p, q, !want)
					}
					if (Place{Variable, 0, n}).Overlaps(q) || p.Overlaps(Place{Variable, 0, m}) {
						t.Error("a variable shares memory")
					}
				}
			}
		}
	}
}

func TestJSON(t *testing.T) {
	a := Access{Region: Whole(3, []int{2}), Perm: perm.Reduce, Redop: perm.Max}
	data, err := json.Marshal(a)
	if want := `{"root":3,"lo":[0],"hi":[2],"perm":"reduce","redop":"max"}`; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
	var back Access
	if err := json.Unmarshal(data, &back); err != nil || back.String() != a.String() || back.Perm != a.Perm || back.Redop != a.Redop {
		t.Errorf("%+v, %v", back, err)
	}
	for _, p := range []Place{{Arena, 64, 8}, {Variable, 0, 4}} {
		data, err := json.Marshal(p)
		var back Place
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || back != p {
			t.Errorf("%v became %v: %v", p, back, err)
		}
	}
	var s Space
	if err := s.UnmarshalText([]byte("disk")); err == nil || err.Error() != `unknown memory space "disk"` {
		t.Errorf("disk: %v", err)
	}
}

// TestCovers compares with Region.Contains.
func TestCovers(t *testing.T) {
	for _, shape := range [][]int{{}, {3}, {2, 3}, {0, 3}, {2, 0}} {
		for _, grow := range [][2]int{{0, 0}, {1, 0}, {0, -1}, {0, 1}} {
			a := Whole(1, shape)
			for d := range shape {
				a.Lo[d], a.Hi[d] = a.Lo[d]+grow[0], a.Hi[d]+grow[1]
			}
			if got, want := a.Covers(shape), a.Contains(Whole(1, shape)); got != want {
				t.Errorf("%v covers %v: %v, want %v", a.Box, shape, got, want)
			}
		}
	}
}

// TestRun compares the runs of all boxes of a tensor with the elements that they have.
func TestRun(t *testing.T) {
	shape := []int{2, 1, 3, 2}
	var bounds func(d int, lo, hi []int)
	runs := 0
	bounds = func(d int, lo, hi []int) {
		if d < len(shape) {
			for a := range shape[d] + 1 {
				for b := a; b <= shape[d]; b++ {
					bounds(d+1, append(lo, a), append(hi, b))
				}
			}
			return
		}
		box := Box{Lo: lo, Hi: hi}
		var has []int
		for n := range 12 {
			at := []int{n / 6, 0, n / 2 % 3, n % 2}
			in := true
			for d, i := range at {
				in = in && lo[d] <= i && i < hi[d]
			}
			if in {
				has = append(has, n)
			}
		}
		want := len(has) > 0 && has[len(has)-1]-has[0] == len(has)-1
		first, end, ok := box.Run(shape)
		if ok != want || ok && (first != has[0] || end != has[len(has)-1]+1) {
			t.Errorf("%v: got %d to %d, %v, want %v of %v", box, first, end, ok, want, has)
		}
		if ok {
			runs++
		}
	}
	bounds(0, nil, nil)
	if runs == 0 {
		t.Error("no box has a run")
	}
	if lo, hi, ok := (Box{}).Run(nil); lo != 0 || hi != 1 || !ok {
		t.Errorf("a scalar: %d to %d, %v", lo, hi, ok)
	}
}
