package workspace

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// Kind says what a name in a spec means.
type Kind uint8

// The kinds of names.
const (
	Key          Kind = iota // of the spec language
	Slot                     // a tensor slot
	Attribute                // or a field of a record
	Argument                 // an argument of tasks
	Dimension                // or a run of them
	TypeVariable             // a dtype variable
	ElementType
	Value       // a tensor or a scalar of a formula's own
	Function    // of a formula's own
	Index       // of a formula, or a parameter of a function
	Builtin     // a function that all formulas and expressions have, or a reduction
	Spec        // an operator, an initializer or an enum
	EnumValue   // of an attribute, or of a shared enum
	Declaration // any other name that a spec gives, such as that of a condition
)

// Name is a place in a spec where a name stands.
type Name struct {
	Span source.Span
	Text string // as it is declared: without primes, and without the names in front of it
	Kind Kind
	// Spec is the spec that declares the name; "" of a name of the language.
	Spec string
	// Of is the attribute of a field of a record, or of an enum's value if the enum is not shared.
	Of string
	// Declares says that the name is declared here.
	Declares bool

	key *keys.Key // of a Key
}

// namesOf returns the names in a spec or in opgen.toml, sorted by place. Where a text is no TOML, it leaves
// out the lines that cannot be read.
func (s *Snapshot) namesOf(path string) []Name {
	if path == config.Name {
		return s.read(path).names(s)
	}
	f := s.files[path]
	if f == nil {
		return nil
	}
	f.named.Do(func() { f.names = s.read(path).names(s) })
	return f.names
}

// nameAt returns the name at an offset, or nil.
func (s *Snapshot) nameAt(path string, offset int) *Name {
	names := s.namesOf(path)
	for i := range names {
		// Behind the last letter counts, as editors ask there, too.
		if n := &names[i]; n.Span.Start <= offset && offset <= n.Span.End {
			if i+1 < len(names) && names[i+1].Span.Start == offset {
				continue
			}
			return n
		}
	}
	return nil
}

// document is a spec, or opgen.toml, as it can be read, also if its text is no TOML.
type document struct {
	path string
	name string // of the spec
	root *source.Table
	keys *keys.Table
	spec *spec.Spec // an empty one for opgen.toml
}

// read reads a spec or opgen.toml. It returns nil if the snapshot has no such file.
func (s *Snapshot) read(path string) *document {
	if path == config.Name {
		_, root := readable(path, s.Config)
		return &document{path, "", root, config.Keys, &spec.Spec{}}
	}
	f := s.files[path]
	if f == nil {
		return nil
	}
	text, root := readable(path, f.in.Text)
	d := &document{path, f.spec.Base, root, spec.KeysOf(root), f.spec}
	if text == "" {
		return d
	}
	if text != f.in.Text {
		d.spec = readOne(s.Ground, driver.Input{Path: path, Text: text}, sum{}).spec
	}
	d.name = cmp.Or(d.spec.Name.V, d.spec.Base)
	return d
}

// readable returns a text with spaces in place of lines that cannot be read, and what it says; "" and an
// empty table if nothing can be read.
func readable(path, text string) (string, *source.Table) {
	whole := text
	root, err := source.Parse(path, text)
	for range maxRepairs {
		if err == nil {
			return text, root
		}
		if text = repaired(path, text, err); text == "" {
			break
		}
		root, err = source.Parse(path, text)
	}
	if err == nil {
		return text, root
	}
	return "", &source.Table{Span: source.Span{File: &source.File{Path: path, Text: whole}}}
}

// maxRepairs is how many pieces that cannot be read are left out of a text.
const maxRepairs = 8

// repaired returns a text with spaces in place of what may be the cause of an error: the line in which the
// error stands, or the one in front of it if that is better; "" if there is nothing to leave out. A string of
// several lines without an end goes with all up to the next section.
func repaired(path, text string, err *source.SyntaxError) string {
	for _, quote := range []string{"'''", `"""`} {
		if at := strings.LastIndex(text, quote); strings.Count(text, quote)%2 == 1 {
			start, _ := lineAt(text, at)
			end := len(text)
			if i := strings.Index(text[at:], "\n["); i >= 0 {
				end = at + i
			}
			return blank(text, start, end)
		}
	}
	start, end := lineAt(text, err.Start)
	best, far := "", -1
	for range 2 {
		if start < end {
			t := blank(text, start, end)
			next := len(text) + 1
			if _, e := source.Parse(path, t); e != nil {
				next = e.Start
			}
			if t != text && next > far {
				best, far = t, next
			}
		}
		for start > 0 {
			if start, end = lineAt(text, start-1); strings.TrimSpace(text[start:end]) != "" {
				break
			}
		}
	}
	return best
}

// lineAt returns where the line begins and ends in which an offset is.
func lineAt(text string, at int) (start, end int) {
	at = min(max(at, 0), len(text))
	start = strings.LastIndexByte(text[:at], '\n') + 1
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return start, at + i
	}
	return start, len(text)
}

// blank returns a text with spaces in place of the bytes from start to end, but for the ends of lines.
func blank(text string, start, end int) string {
	b := []byte(text)
	for i := start; i < end; i++ {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
	return string(b)
}

// names collects the names of a document.
func (d *document) names(s *Snapshot) []Name {
	c := &collector{document: d, snapshot: s, declared: declaredIn(d.spec), bound: map[string]bool{}}
	c.table(d.root, d.keys, nil)
	slices.SortStableFunc(c.out, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
	})
	return c.out
}

// declaredIn returns what the names mean that a spec declares outside of its formula.
func declaredIn(s *spec.Spec) map[string]Kind {
	out := map[string]Kind{}
	for _, v := range s.Types {
		out[v.Name] = TypeVariable
	}
	for _, x := range s.Slots {
		out[x.Name] = Slot
		for _, n := range x.Shape {
			if sc, ok := n.(*source.Scalar); ok {
				if text, ok := sc.Value.(string); ok {
					for _, m := range word.FindAllString(text, -1) {
						if _, taken := out[m]; !taken && expr.IsDimName(m) {
							out[m] = Dimension
						}
					}
				}
			}
		}
	}
	for _, x := range s.Dims {
		out[x.Name] = Dimension
	}
	for _, x := range s.Attrs {
		out[x.Name] = Attribute
		if x.Binds.Set() {
			out[x.Binds.V] = Dimension
		}
	}
	for _, x := range s.Args {
		out[x.Name] = Argument
	}
	return out
}

// collector collects names.
type collector struct {
	*document
	snapshot *Snapshot
	declared map[string]Kind
	bound    map[string]bool // dimensions that a shape declares
	out      []Name
}

func (c *collector) add(n Name) { c.out = append(c.out, n) }

// reference adds a name that this spec declares. It reports whether there is one.
func (c *collector) reference(at source.Span, name string) bool {
	kind, ok := c.declared[name]
	if ok {
		c.add(Name{Span: at, Text: name, Kind: kind, Spec: c.name})
	}
	return ok
}

// sections says what the names are that tables of a spec declare, by the key of the table.
var sections = map[string]Kind{"slots": Slot, "attrs": Attribute, "args": Argument, "dims": Dimension, "dtypes": TypeVariable, "values": EnumValue}

// inside returns the span of a key without quotes.
func inside(at source.Span) source.Span {
	text := at.File.Text[at.Start:at.End]
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') {
		at.Start, at.End = at.Start+1, at.End-1
	}
	return at
}

// table collects the names of a table with the keys that lead to it.
func (c *collector) table(t *source.Table, k *keys.Table, path []string) {
	for _, e := range t.Entries {
		at := inside(e.KeySpan)
		var key *keys.Key
		if k != nil {
			key = k.Key(e.Key)
		}
		switch section, declares := sections[last(path)]; {
		case key != nil:
			c.add(Name{Span: at, Text: e.Key, Kind: Key, key: key})
		case len(path) == 1 && declares:
			c.add(Name{Span: at, Text: e.Key, Kind: section, Spec: c.name, Declares: true})
		case len(path) == 3 && path[0] == "attrs" && path[2] == "fields":
			c.add(Name{Span: at, Text: e.Key, Kind: Attribute, Spec: c.name, Of: path[1], Declares: true})
		case len(path) == 3 && path[0] == "slots" && path[2] == "init":
			c.member(at, e.Key, c.initializer(path[1]))
		case len(path) == 3 && path[0] == "fuse" && (path[2] == "share" || path[2] == "make" || path[2] == "when"):
			c.member(at, e.Key, c.fused(path[1]))
		case len(path) == 1 && path[0] != "examples":
			c.add(Name{Span: at, Text: e.Key, Kind: Declaration, Spec: c.name, Declares: true})
		default:
			c.reference(at, e.Key)
		}
		c.value(e.Value, k.Below(e.Key), append(slices.Clone(path), e.Key))
	}
}

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

// initializer returns the initializer of a slot.
func (c *collector) initializer(slot string) string {
	for _, s := range c.spec.Slots {
		if s.Name == slot && s.Init != nil {
			return s.Init.Name.V
		}
	}
	return ""
}

// fused returns the operator of a fusion.
func (c *collector) fused(fusion string) string {
	for _, f := range c.spec.Fusions {
		if f.Name == fusion {
			return f.Other.V
		}
	}
	return ""
}

// member adds a name that another spec declares.
func (c *collector) member(at source.Span, name, of string) {
	if other := c.snapshot.named[of]; other != nil {
		if kind, ok := declaredIn(other)[name]; ok {
			c.add(Name{Span: at, Text: name, Kind: kind, Spec: of})
		}
	}
}

// value collects the names of a value with the keys that lead to it.
func (c *collector) value(n source.Node, k *keys.Table, path []string) {
	switch n := n.(type) {
	case *source.Table:
		c.table(n, k, path)
	case *source.Array:
		for _, e := range n.Elems {
			c.value(e, k, path)
		}
	case *source.Scalar:
		if text, ok := n.Value.(string); ok && text != "" {
			c.text(n, text, path)
		}
	}
}

// prose lists the keys whose values are no code.
var prose = []string{"doc", "message", "category", "since", "deprecated", "family", "name", "kind", "role", "per", "file", "shared", "validate", "shape_func"}

// text collects the names in a string with the keys that lead to it.
func (c *collector) text(n *source.Scalar, text string, path []string) {
	key := last(path)
	all := n.Within(0, len(text))
	of := func(i int) string {
		if i < len(path) {
			return path[i]
		}
		return ""
	}
	switch {
	case slices.Contains(prose, key) && len(path) != 2:
	case of(0) == "values":
	case of(0) == "onnx" && key != "inputs" && key != "outputs": // names of another language
	case key == "formula" && len(path) == 1:
		c.formula(n, text)
	case key == "enum" && of(0) == "attrs", key == "init" && of(0) == "slots", key == "use", key == "other" && of(0) == "fuse":
		c.add(Name{Span: all, Text: text, Kind: Spec, Spec: text})
	case key == "type" && of(0) == "attrs", key == "type" && of(0) == "args":
	case key == "values" && of(0) == "attrs":
		c.add(Name{Span: all, Text: text, Kind: EnumValue, Spec: c.name, Of: enumOwner(path[1 : len(path)-1]), Declares: true})
	case key == "default" && of(0) == "attrs":
		c.enumValue(all, text, c.attr(path[1:len(path)-1]))
	case of(0) == "examples" && of(1) == "attrs" && len(path) > 2:
		c.enumValue(all, text, c.attr(path[2:]))
	case of(0) == "fuse" && of(2) == "when" && len(path) == 4:
		if other := c.snapshot.named[c.fused(of(1))]; other != nil {
			c.enumValue(all, text, attrOf(other, path[3:]))
		}
	case of(0) == "fuse" && of(2) == "set" && len(path) == 4:
		c.member(all, text, c.fused(of(1)))
	case isElementType(text):
		c.add(Name{Span: all, Text: text, Kind: ElementType})
	default:
		before := len(c.out)
		c.words(n, text)
		if of(0) == "slots" && key == "shape" {
			c.binds(c.out[before:])
		}
	}
}

// binds marks the dimensions that stand in a shape first: that is where they are declared, unless [dims]
// does.
func (c *collector) binds(names []Name) {
	for i := range names {
		n := &names[i]
		if n.Kind != Dimension || c.bound[n.Text] || slices.ContainsFunc(c.spec.Dims, func(d *spec.Let) bool { return d.Name == n.Text }) {
			continue
		}
		n.Declares = true
		c.bound[n.Text] = true
	}
}

// isElementType reports whether a text is the name of an element type, or a word for several.
func isElementType(text string) bool {
	return slices.Contains(dtype.Names(), text) || dtype.Named(text) != nil
}

// enumOwner returns the attribute that has values of its own: the keys in front of values.
func enumOwner(path []string) string {
	if len(path) == 3 && path[1] == "fields" {
		return path[0] + "." + path[2]
	}
	return path[0]
}

// attr returns the attribute, or the field of a record, that keys lead to; nil if there is none.
func (c *collector) attr(path []string) *owned { return attrOf(c.spec, path) }

// owned is an attribute with its spec and the name under which names of its values are declared.
type owned struct {
	*spec.Attr
	spec *spec.Spec
	name string
}

func attrOf(s *spec.Spec, path []string) *owned {
	for _, a := range s.Attrs {
		if len(path) == 0 || a.Name != path[0] {
			continue
		}
		if len(path) == 1 {
			return &owned{a, s, a.Name}
		}
		for _, f := range a.Fields {
			if f.Name == last(path) {
				return &owned{f, s, a.Name + "." + f.Name}
			}
		}
	}
	return nil
}

// enumValue adds a value of an enum attribute.
func (c *collector) enumValue(at source.Span, value string, a *owned) {
	switch {
	case a == nil || a.Type.V != "enum":
	case a.Enum.Set():
		c.add(Name{Span: at, Text: value, Kind: EnumValue, Spec: a.Enum.V})
	default:
		c.add(Name{Span: at, Text: value, Kind: EnumValue, Spec: cmp.Or(a.spec.Name.V, a.spec.Base), Of: a.name})
	}
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// words adds the names of this spec that stand in an expression, or in a shape.
func (c *collector) words(n *source.Scalar, text string) {
	tree, err := expr.Parse(strings.TrimSuffix(strings.TrimSpace(text), "..."))
	if err == nil && tree != nil {
		lead := len(text) - len(strings.TrimLeft(text, " \t\n"))
		(&expression{collector: c, node: n, lead: lead}).walk(tree, nil)
		return
	}
	for _, m := range word.FindAllStringIndex(text, -1) {
		if m[0] == 0 || text[m[0]-1] != '\'' && text[m[0]-1] != '.' {
			c.reference(n.Within(m[0], m[1]), text[m[0]:m[1]])
		}
	}
}
