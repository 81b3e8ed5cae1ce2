package simd

// RunningSums sets every z[i] to sum + x[0] + ... + x[i], and returns the last of them, or sum if there is
// none. It adds in float64, sums of four elements at once, so that a sum does not wait for the last one four
// times: the elements of a group are added to each other first, from the first one on, but for the last two.
func RunningSums[T Float](z, x []T, sum float64) float64 {
	check(len(z), len(x), len(x), len(x))
	whole := len(x) &^ 3
	sum = functions[T]().runningSums(z[:whole], x[:whole], sum)
	for i, v := range x[whole:] {
		sum += float64(v)
		z[whole+i] = T(sum)
	}
	return sum
}

func runningSums[T Float](z, x []T, sum float64) float64 {
	for len(x) >= 4 && len(z) >= 4 {
		a := float64(x[0])
		b := a + float64(x[1])
		c := b + float64(x[2])
		d := b + (float64(x[2]) + float64(x[3]))
		z[0], z[1], z[2] = T(sum+a), T(sum+b), T(sum+c)
		sum += d
		z[3] = T(sum)
		x, z = x[4:], z[4:]
	}
	return sum
}
