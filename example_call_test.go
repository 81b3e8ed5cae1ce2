package opgen_test

import (
	"fmt"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/clip"
	"github.com/opgen/opgen/generated/softmax"
)

// An operator runs at once on slices of the program. What is checked is checked when the call is made.
func ExampleNewCall() {
	err := opgen.Do(opgen.Formulas(softmax.Operator), func(s *opgen.Session) error {
		scores, shares := []float32{0, 0, 0, 0}, make([]float32, 4)
		call, err := opgen.NewCall(s, softmax.Operator, softmax.Defaults(), opgen.On(softmax.SlotInput, scores, 4), opgen.On(softmax.SlotOutput, shares, 4))
		if err != nil {
			return err
		}
		for _, last := range []float32{0, 20} {
			scores[3] = last
			if err := call.Run(); err != nil {
				return err
			}
			fmt.Printf("%.2f\n", shares)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// [0.25 0.25 0.25 0.25]
	// [0.00 0.00 0.00 1.00]
}

// A value that the caller passes, such as a bound, is an argument of the call.
func ExampleArgument() {
	err := opgen.Do(opgen.Formulas(clip.Operator), func(s *opgen.Session) error {
		x := []float32{-3, 0.5, 4}
		call, err := opgen.NewCall(s, clip.Operator, clip.Defaults(), opgen.On(clip.SlotInput, x, 3), opgen.On(clip.SlotOutput, x, 3),
			opgen.Argument(clip.SlotLow, -1.0), opgen.Argument(clip.SlotHigh, 1.0))
		if err != nil {
			return err
		}
		err = call.Run()
		fmt.Println(x)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [-1 0.5 1]
}
