// Package opticks has the text that language models of the examples learn from, Newton's Opticks.
package opticks

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
)

//go:embed data/opticks.txt.gz
var opticks []byte

// Corpus is a text as numbers of characters.
type Corpus struct {
	Alphabet []rune // the characters by their numbers, in the order of Unicode
	// The text that models learn from, and what follows it, on which they are compared.
	Train, Valid []int32
}

// Load reads the shipped text. The last tenth is for validation.
func Load() (*Corpus, error) {
	z, err := gzip.NewReader(bytes.NewReader(opticks))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return New(string(text))
}

// New numbers the characters of a text and cuts off its last tenth. It is an error if that has
// characters which the rest lacks: no model could have learned them.
func New(text string) (*Corpus, error) {
	all := []rune(text)
	cut := len(all) - len(all)/10
	c := &Corpus{Alphabet: slices.Compact(slices.Sorted(slices.Values(all[:cut])))}
	numbers, err := c.Encode(text)
	if err != nil {
		return nil, err
	}
	c.Train, c.Valid = numbers[:cut], numbers[cut:]
	return c, nil
}

// Encode returns the numbers of the characters of a text.
func (c *Corpus) Encode(text string) ([]int32, error) {
	var out []int32
	for _, r := range text {
		n, ok := slices.BinarySearch(c.Alphabet, r)
		if !ok {
			return nil, fmt.Errorf("want characters that the text for training has, got %q", r)
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// Decode returns the text of numbers of characters.
func (c *Corpus) Decode(numbers []int32) string {
	var out []rune
	for _, n := range numbers {
		out = append(out, c.Alphabet[n])
	}
	return string(out)
}
