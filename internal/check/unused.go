package check

import (
	"regexp"
	"slices"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Declared is an attribute or a dimension of a spec.
type Declared struct {
	What, Name string
	GoName     string // as kernels select it: Attrs.Dim, Dims.P
	Span       source.Span
}

// anyName matches the names in a text.
var anyName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// notUse matches parts of specs that say nothing about what an operator does: texts for readers, and comments.
var notUse = regexp.MustCompile(`\bdoc\s*=\s*("([^"\\\n]|\\.)*"|'[^'\n]*')|(?m)^\s*#.*$`)

// Unused returns the attributes, and the dimensions of [dims], whose names the spec says nowhere but in their declarations,
// in examples and in texts for readers. An axis that binds a dimension names it for the shapes. An enum of one value names the
// member of a family that the operator is.
func Unused(s *spec.Spec) []Declared {
	var all []Declared
	for _, a := range s.Attrs {
		member := s.Family.Set() && a.Type.V == "enum" && len(a.Values) == 1
		if !a.Binds.Set() && !member {
			all = append(all, Declared{"attribute", a.Name, "Attrs." + goname.Exported(a.Name), a.Key})
		}
	}
	for _, d := range s.Dims {
		all = append(all, Declared{"dimension", d.Name, "Dims." + d.Name, d.Key})
	}
	if all == nil {
		return nil
	}
	text := s.File.Text
	skip := notUse.FindAllStringIndex(text, -1)
	for _, x := range s.Examples {
		skip = append(skip, []int{x.Span.Start, x.Span.End})
	}
	used := map[string]int{}
	for _, at := range anyName.FindAllStringIndex(text, -1) {
		if !slices.ContainsFunc(skip, func(x []int) bool { return x[0] <= at[0] && at[1] <= x[1] }) {
			used[text[at[0]:at[1]]]++
		}
	}
	return slices.DeleteFunc(all, func(d Declared) bool { return used[d.Name] > 1 })
}
