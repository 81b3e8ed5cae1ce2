package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Names holds the specs of other modules by the names that the specs of a module have for them. Each has a
// qualified name, such as nn.softmax, and the plain one, unless specs of several modules have that. The zero
// Names is empty and ready to use.
type Names struct {
	specs   map[string]*spec.Spec
	several map[string][]string // qualified names, by the plain name that the specs of several modules have
	rest    map[string]*spec.Spec
}

// With returns names that also hold specs of the same module, which are not checked with those that name
// them. n may be nil, and keeps its names.
func (n *Names) With(rest map[string]*spec.Spec) *Names {
	if n == nil {
		return &Names{rest: rest}
	}
	return &Names{n.specs, n.several, rest}
}

// Add adds the specs of a module under a name for the module.
func (n *Names) Add(module string, specs []*spec.Spec) {
	if n.specs == nil {
		n.specs, n.several = map[string]*spec.Spec{}, map[string][]string{}
	}
	for _, s := range specs {
		plain, qualified := s.Name.V, module+"."+s.Name.V
		n.specs[qualified] = s
		n.several[plain] = append(n.several[plain], qualified)
	}
}

// fill adds to all what names of a module's specs refer to in other modules. A name that all has keeps its
// meaning.
func (n *Names) fill(all map[string]*spec.Spec) {
	if n == nil {
		return
	}
	for name, s := range n.rest {
		if all[name] == nil {
			all[name] = s
		}
	}
	for name, s := range n.specs {
		all[name] = s
	}
	for plain, qualified := range n.several {
		if all[plain] == nil && len(qualified) == 1 {
			all[plain] = n.specs[qualified[0]]
		}
	}
}

// ambiguous reports a name that specs of several modules have, unless a spec of this module has it.
func (c *checker) ambiguous(name string, at source.Span) bool {
	if c.specs[name] != nil || len(c.otherNames(name)) < 2 {
		return false
	}
	c.list.Add(diag.SeveralModules, at, "%s", severalModules(name)).Hinted("write %s", strings.Join(c.otherNames(name), " or "))
	return true
}

func severalModules(name string) string { return "specs of several modules are named " + name }

// otherNames lists the qualified names of the specs of other modules that have a plain name.
func (c *checker) otherNames(plain string) []string { return c.others.qualified(plain) }

func (n *Names) qualified(plain string) []string {
	if n == nil {
		return nil
	}
	return slices.Sorted(slices.Values(n.several[plain]))
}

// names lists the names of the specs of a kind, or of all if there is none, each spec by one name.
func (c *checker) names(kinds ...spec.Kind) []string { return namesOf(c.specs, kinds...) }

func namesOf(specs map[string]*spec.Spec, kinds ...spec.Kind) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		s := specs[name]
		if _, plain, qualified := strings.Cut(name, "."); qualified && specs[plain] == s {
			continue
		}
		if len(kinds) == 0 || slices.Contains(kinds, s.Kind) {
			out = append(out, name)
		}
	}
	return out
}
