package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMaker judges the verifier by the mutants that are written by hand, and by every 40th other mutant of
// the file with task fusion.
func TestMaker(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	o := options{parallel: 2, every: 40, seed: 1, timeout: time.Minute, only: regexp.MustCompile(`^group\.go$`)}
	status, err := runMaker(t.Context(), o, &out)
	if err != nil || status != 0 {
		t.Fatalf("got status %d, %v, want 0:\n%s", status, err, &out)
	}
	for _, h := range byHand {
		if !regexp.MustCompile(`by hand: .* -> ` + h.name + ": refused").MatchString(out.String()) {
			t.Errorf("%s: want a refused plan, got\n%s", h.name, &out)
		}
	}
}
