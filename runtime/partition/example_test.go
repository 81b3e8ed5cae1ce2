package partition_test

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/partition"
)

// A launch partitions its stores as the constraints of the task say.
func Example() {
	d := partition.NewDeclaration("blend").
		SetCount("inputs", partition.Exactly(2)).
		SetCount("outputs", partition.AtLeast(1)).
		SetConstraints(partition.Constraint{Kind: partition.Align, Terms: []partition.Term{partition.At("inputs", 0), partition.At("outputs", 0)}},
			partition.Constraint{Kind: partition.Broadcast, Terms: []partition.Term{partition.At("inputs", 1)}})
	float := partition.Element{Name: "f32", Bytes: 4}
	x, weight, y := partition.Store{Name: "x", Shape: []int{4096, 64}, Element: float}, partition.Store{Name: "weight", Shape: []int{64}, Element: float},
		partition.Store{Name: "y", Shape: []int{4096, 64}, Element: float}
	l := partition.New(d)
	if err := errors.Join(d.Validate(), l.Add("inputs", &x, &weight), l.Add("outputs", &y)); err != nil {
		fmt.Println(err)
		return
	}
	c := partition.NewChecker(d, partition.Machine{Kind: "cpu", Procs: 4, Threshold: partition.DefaultThreshold("cpu")})
	s, err := c.Launch(l)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		p := s.Argument(i)
		fmt.Println(p.Store.Name, p.Degrees, p.Tile, p.Whole())
	}
	fmt.Println(s.Leaves())
	// Output:
	// x [4 1] [1024 64] false
	// weight [1] [] true
	// y [4 1] [1024 64] false
	// 4
}
