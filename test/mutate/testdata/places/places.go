// Package places has numbers and operators outside of the bodies of functions.
package places

const size = 2 + 1

type list [size]int

func second(l list, more [4 - 1]int) (sum [1 + 1]int) {
	sum[0] = l[1] + more[2]
	return sum
}

var half = func(x [size - 1]int) int { return x[0] / 2 }

func both() int { return half(second(list{}, [3]int{})) }
