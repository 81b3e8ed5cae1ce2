package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// poly is an integer: a sum of products of atoms, by what is multiplied. Atoms are the names of dimensions
// and attributes, indices, and what is no sum of products, such as C / groups. A nil poly is an unknown
// integer.
type poly map[string]int64

// times separates the atoms of a product. Atoms are sorted.
const times = "\x1f"

// maxTerms and maxName bound the length of sums and of products. What is longer is unknown.
const (
	maxTerms = 64
	maxName  = 1 << 10
)

func constant(n int64) poly {
	if n == 0 {
		return poly{}
	}
	return poly{"": n}
}

// atom returns the integer that a name stands for. That of a very long name is unknown.
func atom(name string) poly { return poly{name: 1}.bounded() }

// plus returns p + factor * q.
func (p poly) plus(q poly, factor int64) poly {
	if p == nil || q == nil {
		return nil
	}
	sum := maps.Clone(p)
	for k, c := range q {
		if sum[k] += factor * c; sum[k] == 0 {
			delete(sum, k)
		}
	}
	return sum.bounded()
}

func (p poly) add(q poly) poly { return p.plus(q, 1) }
func (p poly) sub(q poly) poly { return p.plus(q, -1) }

func (p poly) mul(q poly) poly {
	if p == nil || q == nil {
		return nil
	}
	product := poly{}
	for a, c := range p {
		for b, d := range q {
			k := join(a, b)
			if product[k] += c * d; product[k] == 0 {
				delete(product, k)
			}
		}
	}
	return product.bounded()
}

func (p poly) bounded() poly {
	if len(p) > maxTerms {
		return nil
	}
	for k := range p {
		if len(k) > maxName {
			return nil
		}
	}
	return p
}

// atoms returns the factors of a product.
func atoms(product string) []string {
	if product == "" {
		return nil
	}
	return strings.Split(product, times)
}

func join(a, b string) string {
	all := append(atoms(a), atoms(b)...)
	slices.Sort(all)
	return strings.Join(all, times)
}

// without returns a product without one of its factors. ok is false if it has no such factor.
func without(product, factor string) (rest string, ok bool) {
	all := atoms(product)
	i := slices.Index(all, factor)
	if i < 0 {
		return product, false
	}
	return strings.Join(slices.Delete(all, i, i+1), times), true
}

func (p poly) equal(q poly) bool { return p != nil && q != nil && maps.Equal(p, q) }

// number returns the value of a constant.
func (p poly) number() (n int64, ok bool) {
	switch {
	case p == nil || len(p) > 1:
		return 0, false
	case len(p) == 0:
		return 0, true
	}
	n, ok = p[""]
	return n, ok
}

// single returns the atom that p consists of, or "".
func (p poly) single() string {
	for k, c := range p {
		if len(p) == 1 && c == 1 && !strings.Contains(k, times) {
			return k
		}
	}
	return ""
}

// linear returns the factor of an atom and the rest of p. ok is false if a product has the atom twice.
func (p poly) linear(name string) (factor, rest poly, ok bool) {
	factor, rest = poly{}, poly{}
	for k, c := range p {
		r, has := without(k, name)
		switch {
		case !has:
			rest[k] = c
		case slices.Contains(atoms(r), name):
			return nil, nil, false
		default:
			factor[r] = c
		}
	}
	return factor, rest, p != nil
}

// all returns the atoms of p, sorted.
func (p poly) all() []string {
	var out []string
	for k := range p {
		out = append(out, atoms(k)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String writes p as a formula does: long products first.
func (p poly) String() string {
	if p == nil {
		return "?"
	}
	if len(p) == 0 {
		return "0"
	}
	keys := slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		if n := len(atoms(b)) - len(atoms(a)); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for i, k := range keys {
		c := p[k]
		switch {
		case i > 0 && c < 0:
			b.WriteString(" - ")
			c = -c
		case i > 0:
			b.WriteString(" + ")
		case c < 0:
			b.WriteString("-")
			c = -c
		}
		var factors []string
		if c != 1 || k == "" {
			factors = append(factors, fmt.Sprint(c))
		}
		for _, a := range atoms(k) {
			factors = append(factors, strings.TrimPrefix(a, indexMark))
		}
		b.WriteString(strings.Join(factors, " * "))
	}
	return b.String()
}

// indexMark distinguishes the atoms of indices from those of attributes of the same name.
const indexMark = "@"
