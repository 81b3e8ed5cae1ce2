package main

import (
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/examples/internal/opticks"
)

// TestTrigram compares probabilities with those computed by hand for the text abab, and checks that those of
// all characters add up to 1 behind every context, those that the text lacks among them.
func TestTrigram(t *testing.T) {
	t.Parallel()
	// Of the alphabet a, b, c, the trigrams are aba and bab, once each. Behind none, a and b follow one
	// character each.
	g := newTrigram(3, []int32{0, 1, 0, 1})
	none := [3]float64{(1 + 2./3) / 4, (1 + 2./3) / 4, (2. / 3) / 4}
	behindA := [3]float64{none[0] / 2, (1 + none[1]) / 2, none[2] / 2} // only b follows a, behind one character
	for i, want := range map[[3]int32]float64{
		{2, 2, 0}: none[0],              // the text has neither cc nor c
		{2, 0, 1}: behindA[1],           // nor ca
		{1, 0, 1}: (1 + behindA[1]) / 2, // b follows ba once
		{1, 0, 2}: behindA[2] / 2,       // c follows nothing
		{1, 0, 0}: (0 + behindA[0]) / 2, // a does not follow ba
	} {
		if got := g.probability(i[0], i[1], i[2]); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("probability of %v: %g, want %g", i, got, want)
		}
	}
	if got, want := g.bits([]int32{1, 0, 1, 2}), -(math.Log2((1+behindA[1])/2)+math.Log2(g.probability(0, 1, 2)))/2; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%g bits, want %g", got, want)
	}

	c, err := opticks.Load()
	if err != nil {
		t.Fatal(err)
	}
	n := int32(len(c.Alphabet))
	g = newTrigram(int(n), c.Train)
	for a := range n {
		for b := range n {
			sum := 0.0
			for c := range n {
				p := g.probability(a, b, c)
				if !(p > 0) {
					t.Fatalf("the probability of %d behind %d and %d is %g", c, a, b, p)
				}
				sum += p
			}
			if !(math.Abs(sum-1) <= 1e-9) {
				t.Fatalf("behind %d and %d the probabilities add up to %g", a, b, sum)
			}
		}
	}
}

// TestCorpus numbers the characters of a text, and cuts off its last tenth.
func TestCorpus(t *testing.T) {
	t.Parallel()
	c, err := opticks.New("bæcabæcaba")
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Alphabet) != "abcæ" || !slices.Equal(c.Train, []int32{1, 3, 2, 0, 1, 3, 2, 0, 1}) || !slices.Equal(c.Valid, []int32{0}) {
		t.Errorf("got %c, %v and %v", c.Alphabet, c.Train, c.Valid)
	}
	if got := c.Decode(c.Train); got != "bæcabæcab" {
		t.Errorf("got %q back", got)
	}
	if _, err := opticks.New("aaaaaaaaab"); err == nil || err.Error() != "want characters that the text for training has, got 'b'" {
		t.Errorf("a character only at the end: %v", err)
	}
}
