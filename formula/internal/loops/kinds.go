package loops

import (
	"slices"
)

// Kinds names the kinds of loop nests, each once, in the order in which they first run.
func (c *code[T]) Kinds() []string {
	var out []string
	for _, g := range c.groups {
		for _, k := range g.kinds {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// kind returns the kind of a unit's loop nest: see Code.Kinds.
func (k *unitCompiler[T]) kind(u unit[T]) string {
	switch u.(type) {
	case *matrices[T]:
		return "products of matrices"
	case *order[T]:
		return "sorting"
	case *scanRows[T], *scanColumns[T], *integerScan[T], *chain[T]:
		return "scans"
	case *movement[T], *transposed[T]:
		return "copies"
	}
	switch {
	case k.bundle.folds != nil:
		return "reductions"
	case k.bundle.statements[0].Add:
		return "sums by index"
	}
	return "elements"
}
