package vec

import (
	"math"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/tensor"
)

// SquaredDistance returns the sum of the squares of the differences of a and b, which have the same
// length.
func SquaredDistance[T dtype.Float](a, b tensor.ROLane[T]) float64 {
	return distance(a, b, func(d float64) float64 { return d * d })
}

// AbsDistance returns the sum of the absolute differences of a and b, which have the same length.
func AbsDistance[T dtype.Float](a, b tensor.ROLane[T]) float64 {
	return distance(a, b, math.Abs)
}

func distance[T dtype.Float](a, b tensor.ROLane[T], of func(float64) float64) float64 {
	x, n, s := a.Unlock(unlock.Key{})
	y, _, u := b.Unlock(unlock.Key{})
	var sum float64
	for i := range n {
		sum += of(float64(x[i*s]) - float64(y[i*u]))
	}
	return sum
}

// SquareTotal returns the sum of the squares of the elements.
func SquareTotal[T dtype.Float](a tensor.ROLane[T]) float64 {
	return totalOf(a, func(x float64) float64 { return x * x })
}

// AbsTotal returns the sum of the absolute values of the elements.
func AbsTotal[T dtype.Float](a tensor.ROLane[T]) float64 { return totalOf(a, math.Abs) }

func totalOf[T dtype.Float](a tensor.ROLane[T], of func(float64) float64) float64 {
	x, n, s := a.Unlock(unlock.Key{})
	var sum float64
	for i := range n {
		sum += of(float64(x[i*s]))
	}
	return sum
}

// CrossEntropy returns -sum(label * log(p)), where p are probabilities. An element with a label of 0 adds
// nothing, for any probability. label and p have the same length.
func CrossEntropy[T dtype.Float](label, p tensor.ROLane[T]) float64 {
	return crossEntropy(label, p, math.Log)
}

// CrossEntropyOfLogits returns -sum(label * log(p)) for p = softmax(logit), where lse is
// LogSumExp(logit).
func CrossEntropyOfLogits[T dtype.Float](label, logit tensor.ROLane[T], lse float64) float64 {
	return crossEntropy(label, logit, func(x float64) float64 { return x - lse })
}

func crossEntropy[T dtype.Float](label, of tensor.ROLane[T], log func(float64) float64) float64 {
	y, n, s := label.Unlock(unlock.Key{})
	x, _, u := of.Unlock(unlock.Key{})
	var sum float64
	for i := range n {
		if w := float64(y[i*s]); w != 0 {
			sum -= w * log(float64(x[i*u]))
		}
	}
	return sum
}

// Log writes the logarithms of src to dst, which has the same length.
func Log[T dtype.Float](dst tensor.WOLane[T], src tensor.ROLane[T]) {
	d, n, u := dst.Unlock(unlock.Key{})
	x, _, s := src.Unlock(unlock.Key{})
	for i := range n {
		d[i*u] = T(math.Log(float64(x[i*s])))
	}
}

// LogNorm writes the logarithms of the softmax of src to dst, where lse is LogSumExp(src).
func LogNorm[T dtype.Float](dst tensor.WOLane[T], src tensor.ROLane[T], lse float64) {
	d, n, u := dst.Unlock(unlock.Key{})
	x, _, s := src.Unlock(unlock.Key{})
	for i := range n {
		d[i*u] = T(float64(x[i*s]) - lse)
	}
}

// PutNormGrad puts into dst the gradient by x of something that depends on p = softmax(x) and on its
// logarithms, where lse is LogSumExp(x). byProb(i) is the gradient by p[i], byLog(i) that by log(p[i]).
func PutNormGrad[T dtype.Float](dst tensor.GradLane[T], x tensor.ROLane[T], lse float64, byProb, byLog func(i int) float64) {
	data, n, s := x.Unlock(unlock.Key{})
	p := func(i int) float64 { return math.Exp(float64(data[i*s]) - lse) }
	var mean, total float64 // the terms of the normalization, equal for all elements
	for i := range n {
		mean += p(i) * byProb(i)
		total += byLog(i)
	}
	for i := range n {
		dst.Put(i, T(p(i)*(byProb(i)-mean)+(byLog(i)-p(i)*total)))
	}
}
