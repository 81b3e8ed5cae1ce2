package attr_test

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/attr"
)

// Attributes that may be absent, and lists, are values: they are compared with ==.
func Example() {
	type attrs struct {
		Axis attr.Opt[int]
		Dims attr.List[int]
	}
	a := attrs{Axis: attr.Some(1), Dims: attr.ListOf(2, 3)}
	fmt.Println(a == attrs{Axis: attr.Some(1), Dims: attr.ListOf(2, 3)}, a.Axis.Or(0), a.Dims.Len())
	// Output: true 1 2
}

// A value out of its bounds is an *Error.
func ExampleCheckMin() {
	fmt.Println(attr.CheckMin("linear", "out_channels", 0, 1))
	// Output: operator linear: attribute out_channels: want at least 1, got 0
}

// A program finds the attribute that an error is about with errors.As.
func ExampleError() {
	err := fmt.Errorf("model.json: %w", attr.CheckMin("linear", "out_channels", 0, 1))
	var bad *attr.Error
	if errors.As(err, &bad) {
		fmt.Println(bad.Operator, bad.Attr, bad.Got)
	}
	// Output: linear out_channels 0
}

// The value for an attribute that is absent may be one that exists only then.
func ExampleOpt_OrElse() {
	shape := []int{4}
	last := func(axis attr.Opt[int]) int { return axis.OrElse(func() int { return shape[1] }) }
	fmt.Println(last(attr.Some(3)))
	// Output: 3
}

// An integer keeps its 64 bits, and differs from a real number of the same size.
func ExampleNumber() {
	n := attr.Int(2)
	fmt.Println(n, n.Type(), n == attr.Real(2.0), attr.Real(2.0).Type())
	fmt.Println(attr.Floats(attr.Some(n)).Or(1), attr.Floats(attr.Opt[attr.Number]{}).Or(1))
	// Output:
	// 2 i64 false f32
	// 2 1
}
