package main

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

// corpus is a text as numbers of characters.
type corpus struct {
	alphabet []rune // the characters by their numbers, in the order of Unicode
	// The text that models learn from, and what follows it, on which they are compared.
	train, valid []int32
}

// loadCorpus reads the shipped text. The last tenth is for validation.
func loadCorpus() (*corpus, error) {
	z, err := gzip.NewReader(bytes.NewReader(opticks))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return newCorpus(string(text))
}

// newCorpus numbers the characters of a text and cuts off its last tenth. It is an error if that has
// characters which the rest lacks: no model could have learned them.
func newCorpus(text string) (*corpus, error) {
	all := []rune(text)
	cut := len(all) - len(all)/10
	c := &corpus{alphabet: slices.Compact(slices.Sorted(slices.Values(all[:cut])))}
	numbers, err := c.encode(text)
	if err != nil {
		return nil, err
	}
	c.train, c.valid = numbers[:cut], numbers[cut:]
	return c, nil
}

// encode returns the numbers of the characters of a text.
func (c *corpus) encode(text string) ([]int32, error) {
	var out []int32
	for _, r := range text {
		n, ok := slices.BinarySearch(c.alphabet, r)
		if !ok {
			return nil, fmt.Errorf("want characters that the text for training has, got %q", r)
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// decode returns the text of numbers of characters.
func (c *corpus) decode(numbers []int32) string {
	var out []rune
	for _, n := range numbers {
		out = append(out, c.alphabet[n])
	}
	return string(out)
}
