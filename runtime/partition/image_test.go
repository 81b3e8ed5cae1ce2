package partition

import "testing"

// TestImageRank gives image constraints elements of each rank for targets of each rank. Only elements of the
// rank of the target, which is not 0, point into it.
func TestImageRank(t *testing.T) {
	t.Parallel()
	image := Constraint{Kind: Image, Terms: []Term{At("inputs", 0), At("inputs", 1)}}
	d := NewDeclaration("pick").SetCount("inputs", Exactly(2)).SetConstraints(image)
	for rank := range 3 {
		target := &Store{Name: "target", Shape: []int{4, 4}[:rank], Element: Element{Name: "f32", Bytes: 4}}
		for elements := range 3 {
			for _, e := range []Element{PointElement(elements), RectElement(elements)} {
				for values := range 3 {
					source := &Store{Name: "source", Shape: []int{1}, Element: e}
					source.Values = []Box{{Lo: make([]int, values), Hi: []int{1, 1}[:values]}}
					l := New(d)
					if err := l.Add("inputs", source, target); err != nil {
						t.Fatal(err)
					}
					_, err := NewChecker(d, Machine{Kind: "cpu", Procs: 2}).Launch(l)
					if fits := rank > 0 && elements == rank && values == rank; fits != (err == nil) {
						t.Errorf("elements of %s with values of rank %d, for a store of rank %d: %v", e.Name, values, rank, err)
					}
				}
			}
		}
	}
}
