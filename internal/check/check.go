// Package check finds what is wrong with specs beyond their structure: names, types, shapes,
// permissions and tasks, in every spec and between specs. It reports everything it finds.
package check

import (
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// Check checks specs, all of one module together.
func Check(specs []*spec.Spec, list *diag.List) {
	c := &checker{list: list, enums: map[string]*spec.Spec{}, specs: map[string]*spec.Spec{}}
	for _, s := range specs {
		if s.Name.Set() && c.specs[s.Name.V] == nil {
			c.specs[s.Name.V] = s
			if s.Kind == spec.Enum {
				c.enums[s.Name.V] = s
			}
		}
	}
	packages, ids := map[string]*spec.Spec{}, map[task.ID]string{}
	for _, s := range specs {
		c.header(s)
		if s.Name.Set() {
			pkg := goname.Package(s.Name.V)
			if other := packages[pkg]; other != nil && other != s {
				list.Add(diag.Clash, s.Name.Span(), "%s and %s would both be the Go package %s", s.Name.V, other.Name.V, pkg).See(other.Name.Span(), "the other one")
			}
			packages[pkg] = s
		}
		if s.Kind == spec.Enum {
			c.enum(s)
			continue
		}
		(&operator{checker: c, s: s, sc: scope.New(s, c.enums, list)}).check()
		for _, t := range s.Tasks {
			id, name := task.IDOf(s.Name.V, t.Name), s.Name.V+"."+t.Name
			if other, ok := ids[id]; ok && other != name {
				list.Add(diag.Clash, t.Key, "tasks %s and %s have the same id %v; rename one", name, other, id)
			}
			ids[id] = name
		}
	}
}

type checker struct {
	list  *diag.List
	enums map[string]*spec.Spec // by name
	specs map[string]*spec.Spec // by name
}

var (
	snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	upper = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
)

// reservedNames cannot be names in a spec: expressions or generated code give them a meaning.
var reservedNames = []string{"true", "false", "in", "not", "none"}

// reservedSlots cannot be names of slots, because generated code has types, functions or parameters
// of that name.
var reservedSlots = []string{
	"attrs", "dims", "slot", "kernel", "operator", "outputs", "apply", "register", "defaults", "optimizer", "slots", "opts", "g", "n",
	"forward", "backward", "update", "init", "cleanup", "min", "max", "len", "int",
}

func (c *checker) name(name, what string, span source.Span) {
	switch {
	case !snake.MatchString(name):
		c.list.Add(diag.BadName, span, "%s %q: want lower-case letters, digits and single underscores, beginning with a letter", what, name)
	case slices.Contains(reservedNames, name), what == "slot" && slices.Contains(reservedSlots, name):
		c.list.Add(diag.Reserved, span, "%s cannot be named %s: the name has a meaning of its own", what, name)
	}
}

func (c *checker) header(s *spec.Spec) {
	if !s.Name.Set() {
		return
	}
	c.name(s.Name.V, "operator", s.Name.Span())
	if s.Name.V != s.Base {
		c.list.Add(diag.FileName, s.Name.Span(), "the operator is named %s, the file %s.toml", s.Name.V, s.Base)
	}
	if token.IsKeyword(goname.Package(s.Name.V)) {
		c.list.Add(diag.Reserved, s.Name.Span(), "%s is a keyword of Go, so no package can have the name", goname.Package(s.Name.V))
	}
	if s.Family.Set() {
		c.name(s.Family.V, "family", s.Family.Span())
	}
}

func (c *checker) enum(s *spec.Spec) {
	var values []spec.Str
	for _, v := range s.Values {
		values = append(values, v.Name)
	}
	c.enumValues(values, "enum "+s.Name.V, s.Name.Span())
}

// enumValues checks the names of an enum's values and the Go constants that they become.
func (c *checker) enumValues(values []spec.Str, what string, span source.Span) {
	if len(values) == 0 {
		c.list.Add(diag.BadValue, span, "%s: want at least one value", what)
	}
	goNames := map[string]spec.Str{}
	for _, v := range values {
		g := goname.Exported(v.V)
		if g == "" {
			c.list.Add(diag.BadName, v.Span(), "%s: value %q makes no Go name", what, v.V)
			continue
		}
		if first, ok := goNames[g]; ok {
			c.list.Add(diag.Duplicate, v.Span(), "%s: values %q and %q are both %s in Go", what, first.V, v.V, g).See(first.Span(), "the other one")
			continue
		}
		goNames[g] = v
	}
}

// operator checks one spec that is no enum.
type operator struct {
	*checker
	s  *spec.Spec
	sc *scope.Scope
	// shapes of the slots that follow from others
	typeUsed map[string]bool
}

func (o *operator) check() {
	o.typeUsed = map[string]bool{}
	for _, a := range o.s.Attrs {
		o.attr(a, false)
	}
	for _, d := range o.s.Dims {
		if !upper.MatchString(d.Name) {
			o.list.Add(diag.BadName, d.Key, "dimension %q: want a name that begins with an upper-case letter", d.Name)
		}
	}
	for _, sl := range o.s.Slots {
		o.slot(sl)
	}
	for _, v := range o.s.Types {
		o.typeVar(v)
	}
	for _, a := range o.s.Args {
		o.arg(a)
	}
	for _, r := range o.s.Requires {
		o.sc.Expr(r.That, expr.Bool)
		o.message(r.Message)
	}
	o.tasks()
	for _, x := range o.s.Examples {
		o.example(x)
	}
	o.goNames()
}

// goNames checks that the Go names which declarations become are distinct.
func (o *operator) goNames() {
	seen := map[string]source.Span{}
	claim := func(name, from string, span source.Span) {
		if first, ok := seen[name]; ok {
			o.list.Add(diag.Duplicate, span, "%s becomes the Go name %s, which is taken", from, name).See(first, "taken here")
			return
		}
		seen[name] = span
	}
	for _, sl := range o.s.Slots {
		claim(goname.Exported(sl.Name), sl.Name, sl.Key)
	}
	seen = map[string]source.Span{}
	for _, a := range o.s.Attrs {
		claim(goname.Exported(a.Name), a.Name, a.Key)
	}
}

// message checks the {expressions} in a requirement's message.
func (o *operator) message(m spec.Str) {
	if !m.Set() {
		return
	}
	_, names, ok := SplitMessage(m.V)
	if !ok {
		o.list.Add(diag.BadExpr, m.Span(), "a '{' without '}' in the message")
		return
	}
	for _, n := range names {
		if _, ok := o.sc.Lookup(n); !ok {
			at := strings.Index(m.V, "{"+n+"}") + 1
			d := o.list.Add(diag.Undefined, m.Node.Within(at, at+len(n)), "%s is not defined", n)
			if s := nearest.Name(n, o.sc.Names()); s != "" {
				d.Hinted("did you mean %s?", s)
			}
		}
	}
}

// SplitMessage returns a message as a format of package fmt, with %v for each {name}, and the names.
func SplitMessage(m string) (format string, names []string, ok bool) {
	for {
		before, rest, found := strings.Cut(m, "{")
		format += strings.ReplaceAll(before, "%", "%%")
		if !found {
			return format, names, true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return format, names, false
		}
		format += "%v"
		names = append(names, name)
		m = after
	}
}

func (o *operator) typeVar(v *spec.TypeVar) {
	if !upper.MatchString(v.Name) {
		o.list.Add(diag.BadName, v.Key, "dtype variable %q: want a name that begins with an upper-case letter", v.Name)
	}
	if len(v.Types) == 0 {
		o.list.Add(diag.BadValue, v.Key, "dtype variable %s: want at least one element type", v.Name)
	}
	seen := map[string]bool{}
	for _, t := range v.Types {
		if o.elementType(t, false) && seen[t.V] {
			o.list.Add(diag.Duplicate, t.Span(), "element type %s is listed twice", t.V)
		}
		seen[t.V] = true
	}
	if v.From.Set() {
		o.list.Add(diag.NotYet, v.From.Span(), "dtype variables bound by an attribute are not supported yet")
	}
	if !o.typeUsed[v.Name] {
		o.list.Add(diag.Unused, v.Key, "no slot has the element type %s", v.Name)
	}
}

// elementType checks the name of an element type.
func (o *operator) elementType(s spec.Str, orVar bool) bool {
	if orVar && o.sc.What(s.V) == "dtype variable" {
		o.typeUsed[s.V] = true
		return true
	}
	t, err := dtype.Parse(s.V)
	if err != nil || t.String() != s.V {
		if inner, ok := container(s.V); ok && orVar {
			o.list.Add(diag.NotYet, s.Span(), "slots that hold %s are not supported yet", inner)
			o.containerVars(s.V)
			return false
		}
		d := o.list.Add(diag.BadType, s.Span(), "there is no element type %q", s.V)
		candidates := dtype.Names()
		if orVar {
			for _, v := range o.s.Types {
				candidates = append(candidates, v.Name)
			}
		}
		if n := nearest.Name(s.V, candidates); n != "" {
			d.Hinted("did you mean %s?", n)
		}
		return false
	}
	if t.GoType() == "" {
		o.list.Add(diag.NotYet, s.Span(), "tensors of %s are not supported yet", s.V)
		return false
	}
	return true
}

var containerType = regexp.MustCompile(`^(seq|optional|sparse|map)\((.+)\)$`)

// container reports whether a type is a sequence, an optional or the like, and names it.
func container(t string) (string, bool) {
	m := containerType.FindStringSubmatch(t)
	if m == nil {
		return "", false
	}
	return map[string]string{"seq": "sequences", "optional": "optionals", "sparse": "sparse tensors", "map": "maps"}[m[1]], true
}

// containerVars marks the dtype variables within seq(T) and the like as used.
func (o *operator) containerVars(t string) {
	for {
		m := containerType.FindStringSubmatch(t)
		if m == nil {
			o.typeUsed[t] = true
			return
		}
		t = m[2]
	}
}

// floatType reports whether every element type that a slot may have is a floating-point one.
func (o *operator) floatType(s spec.Str) bool {
	for _, v := range o.s.Types {
		if v.Name == s.V {
			return !slices.ContainsFunc(v.Types, func(t spec.Str) bool {
				p, err := dtype.Parse(t.V)
				return err == nil && !p.IsFloat()
			})
		}
	}
	t, err := dtype.Parse(s.V)
	return err == nil && t.IsFloat()
}

var argSources = []string{"iteration"}

func (o *operator) arg(a *spec.Arg) {
	o.name(a.Name, "argument", a.Key)
	if a.From.Set() && !slices.Contains(argSources, a.From.V) {
		o.list.Add(diag.NotYet, a.From.Span(), "arguments from %q are not supported yet", a.From.V).Hinted("supported: %s", strings.Join(argSources, ", "))
	} else if a.Type.Set() && a.Type.V != "int" {
		o.list.Add(diag.BadValue, a.Type.Span(), "the iteration is an int, not %s", a.Type.V)
	}
}
