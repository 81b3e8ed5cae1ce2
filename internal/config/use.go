package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	gomodule "golang.org/x/mod/module"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// Use is a module whose specs the specs of this one may name.
type Use struct {
	Module string      // its path
	As     string      // what stands in front of qualified names
	Span   source.Span // of the module's path
}

// asName matches what may stand in front of a qualified name: a name of the spec language.
var asName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// uses reads the list use. An element is the path of a module, or a table with it and another name for the
// module.
func (c *Config) uses(n source.Node, list *diag.List) {
	elements, ok := n.(*source.Array)
	if !ok {
		list.Add(diag.WrongKind, source.SpanOf(n), "use: want an array of paths of modules, got %s", english.Article(source.Kind(n)))
		return
	}
	for _, n := range elements.Elems {
		u := readUse(n, list)
		if u == nil {
			continue
		}
		if !c.twice(u, list) {
			c.Uses = append(c.Uses, u)
		}
	}
}

// twice reports a module, or a name for one, that use has twice.
func (c *Config) twice(u *Use, list *diag.List) bool {
	if i := slices.IndexFunc(c.Uses, func(o *Use) bool { return o.Module == u.Module }); i >= 0 {
		list.Add(diag.BadConfig, u.Span, "use lists the module %s twice", u.Module).See(c.Uses[i].Span, "the other time")
		return true
	}
	if i := slices.IndexFunc(c.Uses, func(o *Use) bool { return o.As == u.As }); i >= 0 {
		list.Add(diag.BadConfig, u.Span, "use: names of specs of %s and of %s would both begin with %s", c.Uses[i].Module, u.Module, u.As).
			See(c.Uses[i].Span, "the other module").Hinted(`write { module = %q, as = "NAME" }`, u.Module)
		return true
	}
	return false
}

// readUse reads an element of use. It returns nil after a finding.
func readUse(n source.Node, list *diag.List) *Use {
	u := &Use{Span: source.SpanOf(n)}
	as := u.Span
	before := list.Len()
	switch n := n.(type) {
	case *source.Table:
		for _, e := range n.Entries {
			at := source.SpanOf(e.Value)
			s, ok := text(e.Value)
			switch {
			case useKeys.Key(e.Key) == nil:
				list.Add(diag.UnknownKey, e.KeySpan, "use has no key %s", e.Key).Hinted("keys are %s", strings.Join(useKeys.Names(), ", "))
			case !ok:
				list.Add(diag.WrongKind, at, "%s: want a string, got %s", e.Key, english.Article(source.Kind(e.Value)))
			case e.Key == "module":
				u.Module, u.Span = s, at
			default:
				u.As, as = s, at
			}
		}
		if n.Get("module") == nil {
			list.Add(diag.MissingKey, u.Span, "module is missing: the path of the module")
		}
	default:
		path, ok := text(n)
		if !ok {
			list.Add(diag.WrongKind, u.Span, "use: want the path of a module, got %s", english.Article(source.Kind(n)))
		}
		u.Module = path
	}
	if list.Len() > before {
		return nil
	}
	if err := gomodule.CheckImportPath(u.Module); err != nil {
		list.Add(diag.BadConfig, u.Span, "use: %q is not the path of a module", u.Module)
		return nil
	}
	if u.As == "" {
		u.As = lastName(u.Module)
	}
	if !asName.MatchString(u.As) {
		list.Add(diag.BadConfig, as, "use: %q cannot stand in front of names", u.As).Hinted(`write { module = %q, as = "NAME" }, with lower-case letters, digits and underscores`, u.Module)
		return nil
	}
	return u
}

// majorVersion matches the last part of the path of a module of version 2 or above.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// lastName returns the last part of a module's path that is no version, as a name of the spec language.
func lastName(module string) string {
	parts := strings.Split(module, "/")
	if n := len(parts) - 1; n > 0 && majorVersion.MatchString(parts[n]) {
		parts = parts[:n]
	}
	name := strings.TrimSuffix(parts[len(parts)-1], path.Ext(parts[len(parts)-1]))
	return strings.Join(slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' }), func(s string) bool { return s == "" }), "_")
}
