package main

import (
	"regexp"
	"testing"
)

// TestPlaces checks that mutants lie in bodies of functions, and not in types of parameters or in constants.
func TestPlaces(t *testing.T) {
	sources, err := load("./testdata/places")
	if err != nil {
		t.Fatal(err)
	}
	s := sources[0]
	lines := map[int]bool{}
	for _, m := range s.all(regexp.MustCompile(""), true) {
		lines[m.line] = true
		if m.line < 9 || m.old == "size - 1" {
			t.Errorf("%v: want a mutant in the body of a function", &m)
		}
	}
	for _, line := range []int{9, 13, 15} {
		if !lines[line] {
			t.Errorf("line %d has no mutant", line)
		}
	}
}
