package format

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/dtype"
)

// shortened writes words such as floating in place of the element types that they stand for, where the lists
// of dtype variables have these one behind the other.
func shortened(items []*source.Item) []*source.Item {
	items = slices.Clone(items)
	under := ""
	for i, x := range items {
		switch {
		case x.Header != "":
			under = x.Name.Keys[0]
		case under == "" && x.Name.Keys[0] == "dtypes", under == "dtypes":
			y := *x
			y.Value = withWords(x.Value)
			items[i] = &y
		}
	}
	return items
}

// withWords writes words in the lists of a value.
func withWords(v *source.Literal) *source.Literal {
	c := *v
	c.Elems = nil
	for _, e := range v.Elems {
		x := *e
		x.Value = withWords(e.Value)
		c.Elems = append(c.Elems, &x)
	}
	if v.Open != "[" {
		return &c
	}
	for _, word := range dtype.Words() {
		types := dtype.Named(word)
		for i := range len(c.Elems) - len(types) + 1 {
			if stands(c.Elems[i:][:len(types)], types) {
				first := *c.Elems[i]
				first.Value = &source.Literal{Text: `"` + word + `"`}
				c.Elems = slices.Replace(c.Elems, i, i+len(types), &first)
				break
			}
		}
	}
	return &c
}

// stands reports whether elements of an array are the names of some types, without comments.
func stands(elems []*source.Element, types []dtype.Type) bool {
	for i, e := range elems {
		if strings.Trim(e.Value.Text, `"'`) != types[i].String() || !bare(e.Above, e.Beside) {
			return false
		}
	}
	return true
}
