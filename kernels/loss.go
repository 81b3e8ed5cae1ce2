package kernels

import (
	"math"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
	"github.com/opgen/opgen/runtime/vec"
)

// lossScale returns the factor from a sum to the loss: the given one, 1 for a sum, or 1/n for a mean over n.
func lossScale(given attr.Opt[float64], sum bool, n int) float64 {
	if s, ok := given.Get(); ok {
		return s
	}
	if sum {
		return 1
	}
	return 1 / float64(max(n, 1))
}

// setLoss sums the losses of rows, in their order, and scales them.
func setLoss[T dtype.Float](loss tensor.WO[T], rows tensor.RW[float64], scale float64) {
	loss.Set(0, T(scale*vec.Total(rows.RO().Span(0, rows.Len()))))
}

// setClasses writes row i of the outputs of cross entropies besides the loss, if they are present: the
// probabilities and their logarithms. row holds logits with their LogSumExp, or probabilities if there is
// no lse.
func setClasses[T dtype.Float](probs, logProb tensor.Opt[tensor.WO[T]], i int, row tensor.ROLane[T], lse attr.Opt[float64]) {
	l, logits := lse.Get()
	if probs, ok := probs.Get(); ok && logits {
		vec.ExpNorm(probs.Lane(i), row)
	} else if ok {
		vec.Copy(probs.Lane(i), row)
	}
	if logs, ok := logProb.Get(); ok && logits {
		vec.LogNorm(logs.Lane(i), row, l)
	} else if ok {
		vec.Log(logs.Lane(i), row)
	}
}

// putClasses puts the gradient of a row of logits or probabilities, as setClasses takes them, given row i
// of the gradients of the probabilities and of their logarithms, and the gradient byLog(k) of the loss by
// the logarithm of probability k.
func putClasses[T dtype.Float](to tensor.GradLane[T], row tensor.ROLane[T], lse attr.Opt[float64], probs, logProb tensor.Opt[tensor.RO[T]], i int, byLog func(k int) float64) {
	gradProbs, hasProbs := probs.Get()
	gradLogs, hasLogs := logProb.Get()
	byProb := func(k int) float64 {
		if !hasProbs {
			return 0
		}
		return float64(gradProbs.Lane(i).At(k))
	}
	allLog := func(k int) float64 {
		if !hasLogs {
			return byLog(k)
		}
		return byLog(k) + float64(gradLogs.Lane(i).At(k))
	}
	if l, ok := lse.Get(); ok {
		vec.PutNormGrad(to, row, l, byProb, allLog)
		return
	}
	for k := range row.Len() {
		g := byProb(k)
		if l := allLog(k); l != 0 { // a class without weight may have probability 0
			g += l / float64(row.At(k))
		}
		to.Put(k, T(g))
	}
}

// logSumExp returns the LogSumExp of a row of logits; probabilities have none.
func logSumExp[T dtype.Float](row tensor.ROLane[T], logits bool) attr.Opt[float64] {
	if !logits {
		return attr.Opt[float64]{}
	}
	return attr.Some(vec.LogSumExp(row))
}

// keepLogSumExp is logSumExp, and also saves the result for backward.
func keepLogSumExp[T dtype.Float](keep tensor.Opt[tensor.WO[float64]], i int, row tensor.ROLane[T]) attr.Opt[float64] {
	lse := logSumExp(row, keep.Has())
	if to, ok := keep.Get(); ok {
		to.Set(i, lse.Or(0))
	}
	return lse
}

// keptLogSumExp returns what keepLogSumExp saved.
func keptLogSumExp(kept tensor.Opt[tensor.RO[float64]], i int) attr.Opt[float64] {
	if v, ok := kept.Get(); ok {
		return attr.Some(v.At(i))
	}
	return attr.Opt[float64]{}
}

// crossEntropy returns the cross entropy of a label and a row of logits or probabilities.
func crossEntropy[T dtype.Float](label, row tensor.ROLane[T], lse attr.Opt[float64]) float64 {
	if l, ok := lse.Get(); ok {
		return vec.CrossEntropyOfLogits(label, row, l)
	}
	return vec.CrossEntropy(label, row)
}

// nll returns the negative log-likelihood of a class: its cross entropy with a row of logits or
// probabilities.
func nll[T dtype.Float](row tensor.ROLane[T], class int, lse attr.Opt[float64]) float64 {
	x := float64(row.At(class))
	if l, ok := lse.Get(); ok {
		return l - x
	}
	return -math.Log(x)
}
