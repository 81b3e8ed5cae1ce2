package main

import "math"

// trigram predicts a character from the two before it, by counts of a text. Predictions from two, one and no
// characters are interpolated after Witten and Bell: where n different characters followed a context, the
// prediction of the shorter context has the weight of n counts. Shorter contexts count after Kneser and Ney:
// not how often a character follows, but after how many different characters in front. All characters are
// equally likely before anything is counted.
type trigram struct {
	alphabet int
	orders   [3]counts // for contexts of none, one and two characters
}

// counts holds how often each character follows each context.
type counts struct {
	follow       []int // a row for each context
	total, kinds []int // of each row: the sum, and how many counts are above 0
}

// newTrigram counts a text.
func newTrigram(alphabet int, text []int32) *trigram {
	t := &trigram{alphabet: alphabet}
	follow := make([]int, alphabet*alphabet*alphabet)
	for i := 2; i < len(text); i++ {
		follow[(int(text[i-2])*alphabet+int(text[i-1]))*alphabet+int(text[i])]++
	}
	t.orders[2] = newCounts(alphabet, follow)
	for order := 1; order >= 0; order-- {
		follow = shorter(alphabet, follow)
		t.orders[order] = newCounts(alphabet, follow)
	}
	return t
}

// newCounts sums up the rows of counts.
func newCounts(alphabet int, follow []int) counts {
	rows := len(follow) / alphabet
	c := counts{follow, make([]int, rows), make([]int, rows)}
	for at, n := range follow {
		c.total[at/alphabet] += n
		if n > 0 {
			c.kinds[at/alphabet]++
		}
	}
	return c
}

// shorter returns the counts of contexts without their first characters.
func shorter(alphabet int, follow []int) []int {
	out := make([]int, len(follow)/alphabet)
	for at, n := range follow {
		if n > 0 {
			out[at%len(out)]++
		}
	}
	return out
}

// probability returns the probability of character c behind a and b.
func (t *trigram) probability(a, b, c int32) float64 {
	p := 1 / float64(t.alphabet)
	for order, row := range [3]int{0, int(b), int(a)*t.alphabet + int(b)} {
		o := &t.orders[order]
		if kinds := float64(o.kinds[row]); kinds > 0 {
			p = (float64(o.follow[row*t.alphabet+int(c)]) + kinds*p) / (float64(o.total[row]) + kinds)
		}
	}
	return p
}

// bits returns how many bits the characters of a text take on average, without the first two, of which it
// knows nothing.
func (t *trigram) bits(text []int32) float64 {
	sum := 0.0
	for i := 2; i < len(text); i++ {
		sum -= math.Log2(t.probability(text[i-2], text[i-1], text[i]))
	}
	return sum / float64(len(text)-2)
}
