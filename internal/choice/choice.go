// Package choice chooses some of many mutants for a test.
package choice

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// InTurn returns n of a list, one of each kind in turn, or all if there are fewer or n is 0. Those of a kind
// are in the order of a hash of the seed and their names. So an element that joins the list or leaves it
// moves no other one of another name to another place before or behind it, and few elements enter or leave
// the choice.
func InTurn[T fmt.Stringer](seed uint64, n int, all []T, kind func(T) string) []T {
	byKind := map[string][]T{}
	for _, x := range all {
		byKind[kind(x)] = append(byKind[kind(x)], x)
	}
	rank := func(x T) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, seed, " ", x)
		return h.Sum64()
	}
	kinds := slices.Sorted(maps.Keys(byKind))
	for _, k := range kinds {
		slices.SortStableFunc(byKind[k], func(x, y T) int { return cmp.Compare(rank(x), rank(y)) })
	}
	if n = cmp.Or(n, len(all)); n > len(all) {
		n = len(all)
	}
	out := make([]T, 0, n)
	for len(out) < n {
		for _, k := range kinds {
			if len(byKind[k]) > 0 && len(out) < n {
				out, byKind[k] = append(out, byKind[k][0]), byKind[k][1:]
			}
		}
	}
	return out
}
