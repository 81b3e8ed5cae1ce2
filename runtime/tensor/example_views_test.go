package tensor_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/tensor/tensortest"
)

// A view for writing has lanes as one for reading, and parts of it are matrices that packages such as blas
// fill.
func ExampleWO() {
	data := make([]float32, 6)
	v := tensortest.WO(data, 2, 3)
	for i := range 2 {
		lane := v.Lane(i)
		for k := range lane.Len() {
			lane.Set(k, float32(10*i+k))
		}
	}
	m := v.Mat(0, 2, 3)
	fmt.Println(data, m.Rows(), m.Cols())
	// Output: [0 1 2 10 11 12] 2 3
}

// A view for reading and writing gives views for one of both, for functions that take no more.
func ExampleRW() {
	data := []float32{1, 2, 3, 4, 5, 6}
	v := tensortest.RW(data, 2, 3).Along(0) // lanes are columns
	lane := v.Lane(2)
	for i := range lane.Len() {
		lane.Set(i, 10*lane.RO().At(i))
	}
	v.WO().Set(0, 7)
	fmt.Println(data)
	// Output: [7 2 30 4 5 60]
}

// A kernel puts each element of a gradient once. Whether the value is stored, added or dropped is not its
// concern.
func ExampleGrad() {
	for _, v := range []struct {
		mode tensor.Mode
		data []float32
	}{{tensor.Store, []float32{5, 5}}, {tensor.Accumulate, []float32{5, 5}}, {tensor.Discard, nil}} {
		g := tensortest.Grad(v.mode, v.data, 1, 2)
		for i := range g.Len() {
			g.Put(i, 3)
		}
		fmt.Println(v.data, g.Wanted(), g.Mat(0, 1, 2).Mode() == v.mode)
	}
	// Output:
	// [3 3] true true
	// [8 8] true true
	// [] false true
}

// A gradient that is scattered into takes several values for an element. They are added.
func ExampleScatter() {
	data := make([]float32, 4)
	v := tensortest.Scatter(data, 2, 2)
	for _, index := range []int{3, 1, 3} {
		v.Add(index, 1)
	}
	lane := v.Lane(0)
	for i := range lane.Len() {
		lane.Add(i, 0.5)
	}
	unused := tensortest.Scatter[float32](nil, 2, 2)
	unused.Add(3, 1)
	fmt.Println(data, v.Len(), v.Wanted(), unused.Wanted())
	// Output: [0.5 1.5 0 2] 4 true false
}

// A reduction folds values into elements, here the greater of both.
func ExampleReduction() {
	data := []int32{3, 3}
	v, ok := tensortest.Reduction(perm.Max, data, 2)
	for i := range v.Len() {
		v.Fold(i, int32(2+5*i))
	}
	fmt.Println(data, ok)
	// Output: [3 7] true
}

// Each worker has scratch memory of its own.
func ExamplePerWorker() {
	first, second := make([]float64, 4), make([]float64, 4)
	scratch := tensortest.PerWorker(tensortest.RW(first, 2, 2), tensortest.RW(second, 2, 2))
	const worker = 1
	scratch.Along(0).Of(worker).Lane(1).Set(1, 9) // of the second column, the second element
	fmt.Println(first, second)
	// Output: [0 0 0 0] [0 0 0 9]
}

// An optional tensor is asked for before it is used.
func ExampleOpt() {
	var absent tensor.Opt[tensor.RO[float32]]
	bias := tensor.Some(tensortest.RO([]float32{1, 2, 3, 4}, 2, 2).Along(0))
	fmt.Println(absent.Has(), bias.Has())
	if v, ok := bias.Get(); ok {
		fmt.Println(v.Lane(1).At(0), v.Lane(1).At(1))
	}
	// Output:
	// false true
	// 2 4
}

// What a kernel writes or adds to has lanes along any dimension, too.
func ExampleWO_Along() {
	out, sums := make([]float32, 6), make([]float32, 6)
	lane := tensortest.WO(out, 2, 3).Along(0).Lane(1) // the second column
	lane.Set(0, 5)
	lane.Set(1, 6)
	tensortest.Grad(tensor.Store, sums, 2, 3).Along(0).Lane(2).Put(1, 7)
	tensortest.Scatter(sums, 2, 3).Along(0).Lane(2).Add(1, 1)
	fmt.Println(out, sums)
	// Output: [0 5 0 0 6 0] [0 0 0 0 0 8]
}
