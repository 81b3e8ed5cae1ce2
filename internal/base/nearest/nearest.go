// Package nearest finds the name that a misspelled one was probably meant to be.
//
// Generator and runtime use it, for specs and for attributes in JSON. It imports the standard library only,
// so that the runtime does not depend on the generator by it.
package nearest

import (
	"slices"
	"strings"
)

// Name returns the candidate closest to name in edit distance, or "" if none is close enough to be worth
// suggesting (more than a third of the letters, and at least two, would have to change). Of equally
// close candidates, the first one with as many letters is returned, or else the first one. A candidate that
// differs in capitals only is the closest.
func Name(name string, candidates []string) string {
	limit := max(2, len(name)/3)
	best, bestDist := "", limit+1
	for _, c := range candidates {
		if c == name || c == "" {
			continue
		}
		if strings.EqualFold(c, name) {
			return c
		}
		d := distance(name, c, bestDist+1)
		if d < bestDist || d == bestDist && best != "" && len(best) != len(name) && len(c) == len(name) {
			best, bestDist = c, d
		}
	}
	// A suggestion that shares no letters with the name does not help.
	if bestDist >= max(len(name), len(best)) {
		return ""
	}
	return best
}

// Begun returns the only candidate that begins with name, which may be an abbreviation, or else what Name
// returns.
func Begun(name string, candidates []string) string {
	begun := ""
	for _, c := range candidates {
		switch {
		case name == "" || !strings.HasPrefix(c, name):
		case begun != "":
			return Name(name, candidates)
		default:
			begun = c
		}
	}
	if begun == "" {
		return Name(name, candidates)
	}
	return begun
}

// distance returns the optimal-string-alignment distance of a and b (insert, delete, substitute,
// swap of neighbors), or limit if it is not below limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d >= limit || -d >= limit {
		return limit
	}
	two, one, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(one[j]+1, cur[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], two[j-2]+1)
			}
		}
		if slices.Min(cur) >= limit {
			return limit
		}
		two, one, cur = one, cur, two
	}
	return one[len(y)]
}
