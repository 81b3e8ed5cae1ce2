// Package breaking compares two versions of the specs of a module: it finds the changes with which the code
// of its users, their stored plans or their files of variables no longer fit.
package breaking

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
)

// What a change breaks.
const (
	code      = "code"      // Go code that uses a generated package
	plans     = "plans"     // stored plans
	variables = "variables" // files of variables
)

// Change is a change that breaks something.
type Change struct {
	Breaks string `json:"breaks"` // "code", "plans" or "variables"
	// Name is the operator or the shared enum, Source its spec: that of the old version if the new one has
	// none.
	Name    string `json:"name"`
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"` // in the spec; 0 if no line belongs to it
	Message string `json:"message"`
}

// String returns the change as a line.
func (c Change) String() string {
	at := c.Source
	if c.Line > 0 {
		at += fmt.Sprintf(":%d", c.Line)
	}
	return fmt.Sprintf("%s: %s: breaks %s: %s", at, c.Name, c.Breaks, c.Message)
}

// comparison collects changes.
type comparison struct{ found []Change }

func (c *comparison) add(breaks, name, file string, at source.Pos, format string, args ...any) {
	c.found = append(c.found, Change{breaks, name, file, at.Line, fmt.Sprintf(format, args...)})
}

// Models compares what the models of two versions say about plans and variables, and about values that
// callers leave out. Packages compares the code.
func Models(old, now *model.Module) []Change {
	c := &comparison{}
	for _, o := range old.Operators {
		i := slices.IndexFunc(now.Operators, func(n *model.Operator) bool { return n.Name == o.Name })
		if i < 0 {
			c.gone(o)
			continue
		}
		p := &pair{comparison: c, old: o, now: now.Operators[i]}
		p.attrs("", p.old.Attrs, p.now.Attrs)
		p.types()
		p.slots()
		p.requirements()
		p.tasks()
		p.variables()
	}
	Sort(c.found)
	return c.found
}

// Sort puts changes in the order of files, lines and messages.
func Sort(all []Change) {
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Breaks, b.Breaks), cmp.Compare(a.Message, b.Message))
	})
}

// gone reports an operator that the new version does not have.
func (c *comparison) gone(o *model.Operator) {
	c.add(plans, o.Name, o.Source, source.Pos{}, "the operator is gone")
	for _, w := range weights(o) {
		c.add(variables, o.Name, o.Source, source.Pos{}, "the variable %s is gone with its operator", w.Name)
	}
}

// pair is an operator in both versions.
type pair struct {
	*comparison
	old, now *model.Operator
}

// fail reports a change at a place in the new version.
func (p *pair) fail(breaks string, at source.Pos, format string, args ...any) {
	p.add(breaks, p.now.Name, p.now.Source, at, format, args...)
}
