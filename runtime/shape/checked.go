package shape

import "math"

// Add returns a + b. ok is false if an int does not hold the sum or its negative.
func Add(a, b int) (sum int, ok bool) {
	sum = a + b
	return sum, (a^sum)&(b^sum) >= 0 && sum != math.MinInt
}

// Sub returns a - b. ok is false if an int does not hold the difference or its negative.
func Sub(a, b int) (difference int, ok bool) {
	difference = a - b
	return difference, (a^b)&(a^difference) >= 0 && difference != math.MinInt
}

// Mul returns the product of factors, 1 of none. ok is false if an int does not hold it or its negative. A
// factor of 0 makes the product 0, however large the others are.
func Mul(factors ...int) (product int, ok bool) {
	product, ok = 1, true
	for _, n := range factors {
		if n == 0 {
			return 0, true
		}
		p := product * n
		ok = ok && p/n == product && p != math.MinInt
		product = p
	}
	return product, ok
}

// Times returns the product of factors as a float, which has no greatest number that is near.
func Times(factors ...int) float64 {
	product := 1.0
	for _, n := range factors {
		product *= float64(n)
	}
	return product
}
