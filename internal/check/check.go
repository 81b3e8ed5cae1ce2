// Package check finds errors in specs beyond their structure: in names, types, shapes, permissions and tasks,
// in each spec and between specs. It reports all of them. Package formula/check has the rules of formulas.
package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Result holds specs with their typed expressions and shapes. Package model reads it if there are no
// findings.
type Result struct {
	Enums []*spec.Spec
	// Named holds the specs by the names that the specs of the module have for them, those of other modules
	// too.
	Named map[string]*spec.Spec
	// Scopes holds the scope of every other spec, with its expressions and shapes typed.
	Scopes []*scope.Scope
}

// Check checks specs, all of one module together. They may name specs of others, which were checked and which
// may be nil. Findings go to list.
func Check(specs []*spec.Spec, others *Names, list *diag.List) *Result {
	return checkAll(specs, others, true, list)
}

// Again checks specs that were checked without findings, and to which facts were added that follow from
// formulas. What formulas mean does not depend on such facts, so formulas are not checked again.
func Again(specs []*spec.Spec, others *Names, list *diag.List) *Result {
	return checkAll(specs, others, false, list)
}

func checkAll(specs []*spec.Spec, others *Names, withFormulas bool, list *diag.List) *Result {
	r := &Result{}
	c := &checker{list: list, others: others, specs: map[string]*spec.Spec{}}
	for _, s := range specs {
		name := s.Name.V
		if name == "" {
			name = s.Base // others may refer to a spec whose name could not be read
		}
		if c.specs[name] == nil {
			c.specs[name] = s
		}
	}
	bad := failed(specs, list)
	others.fill(c.specs)
	for _, s := range specs {
		c.link(s)
	}
	var operators []*spec.Spec
	for _, s := range specs {
		c.header(s)
		switch s.Kind {
		case "":
			continue
		case spec.Enum:
			c.enum(s)
			if withFormulas {
				c.enumFormula(s)
			}
			r.Enums = append(r.Enums, s)
			continue
		}
		operators = append(operators, s)
	}
	r.Scopes = make([]*scope.Scope, len(operators))
	lists, follow := make([]diag.List, len(operators)), make([][]following, len(operators))
	parallel.Do(len(operators), func(i int) {
		own := *c // with findings of its own; specs are only read
		own.list, own.following = &lists[i], nil
		o := &operator{checker: &own, s: operators[i], sc: scope.New(operators[i], &lists[i])}
		o.check()
		if withFormulas {
			o.formula()
		}
		o.goNames()
		r.Scopes[i] = o.sc
		follow[i] = own.following
	})
	for i, s := range operators {
		bad[s] = bad[s] || !lists[i].Empty()
	}
	for i := range lists {
		list.Merge(&lists[i])
		for _, x := range follow[i] {
			if !slices.ContainsFunc(x.operators, func(name string) bool { return bad[c.specs[name]] }) {
				list.Merge(x.list)
			}
		}
	}
	Clashes(specs, list)
	r.Named = c.specs
	return r
}

// Clashes finds names that specs of a module have in common where each must have its own: those of packages,
// of kernel types and of tasks. It reads what the specs declare, and checks nothing else.
func Clashes(specs []*spec.Spec, list *diag.List) {
	c := &checker{list: list}
	packages, kernels := map[string]*spec.Spec{}, map[string]*spec.Spec{}
	for _, s := range specs {
		if !s.Name.Set() {
			continue
		}
		pkg := goname.Package(s.Name.V)
		if other := packages[pkg]; other != nil && other != s {
			list.Add(diag.Clash, s.Name.Span(), "%s and %s would both be the Go package %s", s.Name.V, other.Name.V, pkg).See(other.Name.Span(), "the other one")
		}
		packages[pkg] = s
		for _, k := range kernelTypes(s) {
			if other := kernels[k]; other != nil && other != s && goname.Package(other.Name.V) != pkg {
				list.Add(diag.Clash, s.Name.Span(), "%s and %s would both have the kernel type %s", s.Name.V, other.Name.V, k).See(other.Name.Span(), "the other one")
			}
			kernels[k] = s
		}
	}
	c.taskIDs(specs, task.IDOf)
}

// following holds findings that may follow from others, in the specs of the operators that a formula applies.
// If there are some, they say what is wrong.
type following struct {
	list      *diag.List
	operators []string
}

// failed returns the specs of which a part could not be read.
func failed(specs []*spec.Spec, list *diag.List) map[*spec.Spec]bool {
	files := map[*source.File]bool{}
	for _, d := range list.Sorted() {
		files[d.Span.File] = true
	}
	out := map[*spec.Spec]bool{}
	for _, s := range specs {
		if s.File == nil || files[s.File] {
			out[s] = true
		}
	}
	return out
}

// link looks up the specs that a spec names.
func (c *checker) link(s *spec.Spec) {
	for _, a := range s.Attrs {
		for _, x := range append([]*spec.Attr{a}, a.Fields...) {
			x.Shared = nil
			if e := c.specs[x.Enum.V]; e != nil && x.Enum.Set() && e.Kind == spec.Enum {
				x.Shared = e
			}
		}
	}
	for _, sl := range s.Slots {
		if sl.Init != nil {
			sl.Init.Of = c.specs[sl.Init.Name.V]
		}
	}
	for _, f := range s.Fusions {
		f.Of = c.specs[f.Other.V]
	}
}

// kernelTypes returns the names of the kernel types that a spec may have.
func kernelTypes(s *spec.Spec) []string {
	name := goname.Exported(s.Name.V)
	switch {
	case s.Kind == "" || s.Kind == spec.Enum:
		return nil
	case slices.ContainsFunc(s.Tasks, func(t *spec.Task) bool { return t.Name == "backward" }):
		return []string{name, name + "Backward"}
	}
	return []string{name}
}

// taskIDs checks that no two tasks have the same id. idOf derives an id from names.
func (c *checker) taskIDs(specs []*spec.Spec, idOf func(operator, task string) task.ID) {
	type named struct {
		name string
		span source.Span
	}
	ids := map[task.ID]named{}
	for _, s := range specs {
		for _, t := range s.Tasks {
			this := named{s.Name.V + "." + t.Name, t.Key}
			id := idOf(s.FullName(), t.Name)
			other, taken := ids[id]
			if taken && other.name != this.name {
				c.list.Add(diag.Clash, t.Key, "tasks %s and %s have the same id %v", this.name, other.name, id).
					See(other.span, "the other one").Hinted("rename one of the operators")
			}
			ids[id] = this
		}
	}
}

type checker struct {
	list      *diag.List
	others    *Names
	specs     map[string]*spec.Spec // by name
	following []following           // findings about operators that formulas apply
}

var upper = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

// inExpressions lists what expressions refer to by name.
var inExpressions = []string{"attribute", "field", "slot", "argument"}

func (c *checker) name(name, what string, span source.Span) {
	switch {
	case len(name) > source.MaxKey:
		c.list.Add(diag.BadName, span, "%s: want a name of at most %d letters, got %d", what, source.MaxKey, len(name))
	case !rules.Snake.MatchString(name):
		d := c.list.Add(diag.BadName, span, "%s %q: want lower-case letters, digits and single underscores, beginning with a letter", what, name)
		if s := toSnake(name); rules.Snake.MatchString(s) {
			d.Hinted("write %s", s)
		}
	case slices.Contains(rules.Reserved, name) && slices.Contains(inExpressions, what):
		c.list.Add(diag.Reserved, span, "%s cannot be named %s: the name has a meaning of its own in expressions", what, name)
	case what == "slot" && slices.Contains(rules.ReservedSlots, name):
		c.list.Add(diag.Reserved, span, "slot cannot be named %s: that is the name of a task", name)
	}
}

// toSnake returns a name of another style in the style of specs: inputX becomes input_x.
func toSnake(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r >= 'A' && r <= 'Z':
			if i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
				b.WriteByte('_')
			}
			b.WriteRune(r + 'a' - 'A')
		case r == '-', r == ' ':
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// upperName checks the name of a dimension or a dtype variable.
func (c *checker) upperName(name, what string, span source.Span) {
	if len(name) > source.MaxKey {
		c.list.Add(diag.BadName, span, "%s: want a name of at most %d letters, got %d", what, source.MaxKey, len(name))
		return
	}
	if upper.MatchString(name) {
		return
	}
	d := c.list.Add(diag.BadName, span, "%s %q: want letters, digits and underscores, beginning with an upper-case letter", what, name)
	if s := strings.ToUpper(name); upper.MatchString(s) {
		d.Hinted("write %s", s)
	}
}

func (c *checker) header(s *spec.Spec) {
	if !s.Name.Set() {
		return
	}
	what := string(s.Kind)
	if what == "" {
		what = "spec"
	}
	c.name(s.Name.V, what, s.Name.Span())
	if pkg := goname.Package(s.Name.V); rules.Snake.MatchString(s.Name.V) && goname.Reserved(pkg) {
		c.list.Add(diag.Reserved, s.Name.Span(), "%s cannot be named %s: generated code, Go or Windows uses the name %s for something else", what, s.Name.V, pkg)
	}
	if s.Name.V != s.Base {
		c.list.Add(diag.FileName, s.Name.Span(), "the %s is named %s, the file %s.toml", what, s.Name.V, s.Base).
			Hinted("rename one of them")
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
	if s.Unread["values"] {
		return
	}
	c.enumValues(values, "enum "+s.Base, s.ValuesSpan)
	for _, v := range values {
		if g := goname.Exported(v.V); g == goname.Exported(s.Name.V) {
			c.list.Add(diag.Reserved, v.Span(), "value %s becomes the Go name %s, which is that of the enum", v.V, g)
		}
	}
}

// maxValues is how many values fit the Go type of an enum. Zero is not a value.
const maxValues = 255

// enumValues checks the names of an enum's values and the names of their Go constants.
func (c *checker) enumValues(values []spec.Str, what string, span source.Span) {
	if len(values) == 0 {
		c.list.Add(diag.BadValue, span, "%s: want at least one value", what)
	}
	if len(values) > maxValues {
		c.list.Add(diag.BadValue, values[maxValues].Span(), "%s: want at most %d values, got %d", what, maxValues, len(values))
	}
	goNames := map[string]spec.Str{}
	for _, v := range values {
		if len(v.V) > source.MaxKey {
			c.list.Add(diag.BadName, v.Span(), "%s: want values of at most %d bytes, got one of %d", what, source.MaxKey, len(v.V))
			continue
		}
		g := goname.Exported(v.V)
		if g == "" {
			c.list.Add(diag.BadName, v.Span(), "%s: value %q gives no Go name", what, v.V)
			continue
		}
		if first, ok := goNames[g]; ok {
			c.list.Add(diag.Duplicate, v.Span(), "%s: values %q and %q are both %s in Go", what, first.V, v.V, g).See(first.Span(), "the other one")
			continue
		}
		goNames[g] = v
	}
}

// operator checks one spec that is not an enum.
type operator struct {
	*checker
	s        *spec.Spec
	sc       *scope.Scope
	typeUsed map[string]bool      // dtype variables that are the type of a slot
	unbound  map[string]bool      // dtype variables that were reported as not determined
	clashing map[source.Span]bool // declarations whose clash of Go names was reported
}

// check checks all but the formula and the names that the spec has in Go.
func (o *operator) check() {
	o.typeUsed, o.unbound, o.clashing = map[string]bool{}, map[string]bool{}, map[source.Span]bool{}
	for _, a := range o.s.Attrs {
		o.attr(a, false)
	}
	for _, d := range o.s.Dims {
		o.upperName(d.Name, "dimension", d.Key)
	}
	for _, sl := range o.s.Slots {
		o.slot(sl)
	}
	o.groupNames()
	for _, v := range o.s.Types {
		o.typeVar(v)
	}
	for _, a := range o.s.Args {
		o.arg(a)
	}
	for _, r := range o.s.Requires {
		o.sc.GivenExpr(r.That, expr.Bool)
		o.message(r.Message)
	}
	o.sc.Validate()
	o.variants()
	if o.s.Kind == spec.Operator && len(o.s.Slots) == 0 && !o.s.Unread["slots"] {
		o.list.Add(diag.MissingKey, o.s.Where(), "slots is missing: the tensors that the operator reads and writes")
	}
	o.results()
	o.tasks()
	for _, c := range o.s.Costs {
		o.cost(c)
	}
	for _, x := range o.s.Tiles {
		o.tiles(x)
	}
	if o.s.CUDA != nil {
		o.cuda(o.s.CUDA)
	}
	o.shards()
	o.rewrites()
	for _, x := range o.s.ONNX {
		o.onnx(x)
	}
	for _, x := range o.s.Examples {
		o.example(x)
	}
}

// results checks that the operator makes or changes something.
func (o *operator) results() {
	if o.s.Kind != spec.Operator || o.s.Unread["slots"] || o.s.Unread["tasks"] || len(o.s.Slots) == 0 || o.taskNamed("forward") == nil {
		return
	}
	for _, s := range o.s.Slots {
		a := rules.Access(o.taskNamed("forward"), s.Name)
		if !o.certain(s) || s.Role.V == "output" || s.Role.V == "weight" && a != nil && a.Value.V != "read" {
			return
		}
	}
	o.list.Add(diag.BadRole, o.s.Where(), "an operator has an output, or a weight that forward changes; this one has neither").
		Hinted("a slot that forward makes has the role output")
}

// groupNames checks the slots and arguments that have the name of a group of a task's arguments. In
// constraints such a name would have two meanings, unless the group holds the slot alone.
func (o *operator) groupNames() {
	for _, s := range o.s.Slots {
		g, group := partition.ParseGroup(s.Name)
		role := map[partition.Group][]string{partition.Inputs: {"input", "weight"}, partition.Outputs: {"output", "saved"}}[g]
		if !group {
			continue
		}
		for _, other := range o.s.Slots {
			if role == nil || !slices.Contains(role, s.Role.V) || other != s && slices.Contains(role, other.Role.V) {
				o.list.Add(diag.Reserved, s.Key, "slot cannot be named %s: in constraints, that name is a group of a task's arguments, which holds more than the slot", s.Name)
				break
			}
		}
	}
	for _, a := range o.s.Args {
		if _, group := partition.ParseGroup(a.Name); group {
			o.list.Add(diag.Reserved, a.Key, "argument cannot be named %s: that is a group of a task's arguments", a.Name)
		}
	}
}

// message checks the {expressions} in a requirement's message.
func (o *operator) message(m spec.Str) {
	if !m.Set() {
		return
	}
	_, names, ok := rules.SplitMessage(m.V)
	if !ok {
		at := strings.LastIndexByte(m.V, '{')
		o.list.Add(diag.BadExpr, m.Node.Within(at, at+1), "a '{' without '}' in the message")
		return
	}
	for _, n := range names {
		at := strings.Index(m.V, "{"+n+"}") + 1
		span := m.Node.Within(at, at+len(n))
		sym, ok := o.sc.Lookup(n)
		switch {
		case n == "":
			o.list.Add(diag.BadExpr, m.Node.Within(at-1, at+1), "want the name of an attribute, a dimension or a dtype variable in the braces")
		case !ok && expr.IsDimName(n):
			o.list.Add(diag.UnboundDim, span, "no input's shape binds the dimension %s", n)
		case !ok:
			d := o.list.Add(diag.Undefined, span, "%s is not defined", n)
			if d.Nearest(n, o.sc.Names()) == "" {
				d.Hinted("braces hold the name of an attribute, a dimension or a dtype variable")
			}
		case sym.Class == expr.SlotName:
			o.list.Add(diag.ExprType, span, "a message can give the values of attributes, dimensions and dtype variables, but %s is %s", n, english.Article(o.sc.What(n)))
		}
	}
}
