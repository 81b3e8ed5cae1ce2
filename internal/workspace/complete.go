package workspace

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	formulas "github.com/opgen/opgen/formula/check"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// Completion is a text that may stand at a place.
type Completion struct {
	Label  string
	Kind   Kind
	Detail string
	Doc    string
	Insert string // what is written: Label, or more
}

// Complete returns what may be written at an offset, and the place of the word that it replaces. The text
// need not be TOML.
func (s *Snapshot) Complete(path string, offset int) ([]Completion, source.Span) {
	d := s.read(path)
	if d == nil {
		return nil, source.Span{}
	}
	text, _ := s.Text(path)
	offset = min(max(offset, 0), len(text))
	at := scan(text[:offset])
	start := offset
	for start > at.begin && (isWord(text[start-1])) {
		start--
	}
	end := offset
	for end < len(text) && isWord(text[end]) {
		end++
	}
	c := &completer{document: d, snapshot: s, at: at, before: text[at.begin:start], word: text[start:offset]}
	if len(at.path) > 0 && at.inKey {
		c.before = "" // of a dotted key
	}
	switch {
	case at.comment:
	case at.header:
		c.headers()
	case at.inKey:
		c.keysOf()
	default:
		c.values()
	}
	slices.SortStableFunc(c.out, func(a, b Completion) int { return cmp.Compare(a.Label, b.Label) })
	c.out = slices.CompactFunc(c.out, func(a, b Completion) bool { return a.Label == b.Label })
	return c.out, source.Span{File: &source.File{Path: path, Text: text}, Start: start, End: end}
}

func isWord(b byte) bool { return b == '_' || isLetter(rune(b)) || isDigit(rune(b)) }

// place is where a cursor stands in a text of TOML, as far as what is in front of it says.
type place struct {
	path    []string // the keys that lead to the value, or to the table in which a key stands
	inKey   bool
	header  bool // within the brackets of a header
	quoted  bool // within a string
	comment bool
	begin   int // where the key, the string or the value begins
}

// scan finds out where the end of a text is.
func scan(text string) place {
	type level struct {
		close byte
		path  []string
	}
	var section, key []string
	var levels []level
	inKey, begin := true, 0
	table := func() []string {
		for i := len(levels) - 1; i >= 0; i-- {
			if levels[i].close == '}' {
				return levels[i].path
			}
		}
		return section
	}
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '#':
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return place{comment: true, begin: len(text)}
			}
			i += n
		case b == '\n':
			i++
			if len(levels) == 0 {
				inKey, begin = true, i
			}
		case b == '"' || b == '\'':
			quote := string(b)
			if strings.HasPrefix(text[i:], strings.Repeat(quote, 3)) {
				quote = strings.Repeat(quote, 3)
			}
			n, closed := endOf(text[i+len(quote):], quote)
			if !closed {
				p := place{path: table(), inKey: inKey, quoted: true, begin: i + len(quote)}
				if !inKey {
					p.path = key
				}
				return p
			}
			i += len(quote) + n
		case b == '[' && inKey && len(levels) == 0 && strings.TrimSpace(text[begin:i]) == "":
			start := i
			for i < len(text) && text[i] == '[' {
				i++
			}
			n := strings.IndexAny(text[i:], "]\n")
			if n < 0 {
				return place{header: true, begin: start + strings.LastIndexByte(text[start:], '[') + 1, path: dotted(text[i:])}
			}
			section = dotted(text[i : i+n])
			for i += n; i < len(text) && text[i] == ']'; {
				i++
			}
		case b == '=' && inKey:
			key, inKey = slices.Concat(table(), dotted(text[begin:i])), false
			i++
			begin = i
		case b == '{' && !inKey:
			levels = append(levels, level{'}', key})
			i++
			inKey, begin = true, i
		case b == '[' && !inKey:
			levels = append(levels, level{']', key})
			i++
			begin = i
		case (b == '}' || b == ']') && len(levels) > 0:
			key, levels = levels[len(levels)-1].path, levels[:len(levels)-1]
			i++
			inKey, begin = false, i
		case b == ',' && len(levels) > 0:
			i++
			inKey, begin = levels[len(levels)-1].close == '}', i
			if !inKey {
				key = levels[len(levels)-1].path
			}
		default:
			i++
		}
	}
	if inKey {
		parts := dotted(text[begin:] + "x")
		return place{path: slices.Concat(table(), parts[:max(len(parts)-1, 0)]), inKey: true, begin: begin}
	}
	return place{path: key, begin: begin}
}

// endOf returns where a string ends: behind its quotes.
func endOf(text, quote string) (int, bool) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case text[i] == '\n' && len(quote) == 1:
			return i, true // a string without an end goes no further than its line
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote), true
		}
	}
	return 0, false
}

// dotted returns the parts of a key.
func dotted(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ".") {
		out = append(out, strings.Trim(strings.TrimSpace(part), `"'`))
	}
	return out
}

// completer collects completions.
type completer struct {
	*document
	snapshot *Snapshot
	at       place
	before   string // of the key, the string or the value: what is in front of the word
	word     string
	out      []Completion
}

func (c *completer) put(label string, kind Kind, detail, doc string) {
	c.out = append(c.out, Completion{Label: label, Kind: kind, Detail: detail, Doc: doc, Insert: label})
}

// table returns the description of the table that keys lead to, and the table itself; nil if there is none.
func (c *completer) table(path []string) (*keys.Table, *source.Table) {
	k, t := c.keys, c.root
	for _, name := range path {
		k = k.Below(name)
		if t == nil {
			continue
		}
		e := t.Get(name)
		t = nil
		if e != nil {
			t, _ = e.Value.(*source.Table)
		}
	}
	return k, t
}

// headers proposes the sections of the file.
func (c *completer) headers() {
	k, t := c.table(nil)
	for _, x := range k.Keys {
		if x.Type&(keys.Object|keys.Array) != 0 && !x.Later && x.Type&keys.String == 0 && (t.Get(x.Name) == nil || x.Elem != nil && x.Elem.Table != nil) {
			c.put(x.Name, Key, "section", x.Doc)
		}
	}
}

// keysOf proposes keys of the table in which the cursor stands.
func (c *completer) keysOf() {
	k, t := c.table(c.at.path)
	if k == nil {
		return
	}
	for _, x := range k.Keys {
		if x.Later || t != nil && t.Get(x.Name) != nil && x.Name != c.word {
			continue
		}
		detail := "key"
		if x.Required {
			detail = "required key"
		}
		c.put(x.Name, Key, detail, x.Doc)
		if !c.at.quoted {
			c.out[len(c.out)-1].Insert = x.Name + " = " + opening(x.Value)
		}
	}
	c.members(t)
}

// opening returns how a value begins.
func opening(v keys.Value) string {
	switch v.Type {
	case keys.String:
		return `"`
	case keys.Array:
		return "["
	case keys.Object:
		return "{ "
	}
	return ""
}

// members proposes names that a table of names holds, and that are declared elsewhere.
func (c *completer) members(t *source.Table) {
	p := c.at.path
	of := func(i int) string {
		if i < len(p) {
			return p[i]
		}
		return ""
	}
	x := &collector{document: c.document, snapshot: c.snapshot}
	there := func(name string) bool { return t != nil && t.Get(name) != nil && name != c.word }
	put := func(s *spec.Spec, kinds ...Kind) {
		if s == nil {
			return
		}
		for name, kind := range declaredIn(s) {
			if slices.Contains(kinds, kind) && !there(name) {
				c.put(name, kind, kindOf(s, name), docOf(s, name))
			}
		}
	}
	switch {
	case of(0) == "examples" && of(1) == "attrs" && len(p) == 2, of(0) == "inference":
		put(c.spec, Attribute)
	case of(0) == "examples" && len(p) == 1:
		for _, sl := range c.spec.Slots {
			if sl.Role.V == "input" && !there(sl.Name) {
				c.put(sl.Name, Slot, kindOf(c.spec, sl.Name), sl.Doc.V)
			}
		}
	case of(0) == "fuse" && len(p) == 3 && (of(2) == "share" || of(2) == "make"):
		put(c.snapshot.named[x.fused(of(1))], Slot)
	case of(0) == "fuse" && len(p) == 3 && of(2) == "when":
		put(c.snapshot.named[x.fused(of(1))], Attribute)
	case of(0) == "fuse" && len(p) == 3 && (of(2) == "own" || of(2) == "set"):
		put(c.spec, Attribute)
	case of(0) == "slots" && len(p) == 3 && of(2) == "init":
		put(c.snapshot.named[x.initializer(of(1))], Attribute)
	case of(0) == "inplace" || of(0) == "tasks" && len(p) >= 3:
		put(c.spec, Slot)
	}
}

// kindOf says what a name of a spec is.
func kindOf(s *spec.Spec, name string) string {
	for _, x := range s.Slots {
		if x.Name == name {
			return x.Role.V + " slot"
		}
	}
	for _, x := range s.Attrs {
		if x.Name == name {
			return x.Type.V + " attribute"
		}
	}
	for _, x := range s.Args {
		if x.Name == name {
			return "argument"
		}
	}
	for _, x := range s.Types {
		if x.Name == name {
			return "dtype variable"
		}
	}
	return "dimension"
}

// docOf returns the sentence about a name of a spec.
func docOf(s *spec.Spec, name string) string {
	for _, x := range s.Slots {
		if x.Name == name {
			return x.Doc.V
		}
	}
	for _, x := range s.Attrs {
		if x.Name == name {
			return x.Doc.V
		}
	}
	for _, x := range s.Args {
		if x.Name == name {
			return x.Doc.V
		}
	}
	return ""
}

// values proposes values of the key in front of the cursor.
func (c *completer) values() {
	p := c.at.path
	if len(p) == 0 {
		return
	}
	k, _ := c.table(p[:len(p)-1])
	var v *keys.Value
	if k != nil {
		if x := k.Key(last(p)); x != nil {
			v = &x.Value
		} else {
			v = k.Others
		}
	}
	quoted := func(label string, kind Kind, detail, doc string) {
		c.put(label, kind, detail, doc)
		if !c.at.quoted {
			c.out[len(c.out)-1].Insert = `"` + label + `"`
		}
	}
	for x := v; x != nil; x = x.Elem {
		for _, w := range slices.Concat(x.Words, x.Known) {
			kind := Declaration
			if isElementType(w) {
				kind = ElementType
			}
			quoted(w, kind, last(p), "")
		}
		if x.Type&keys.Boolean != 0 && !c.at.quoted && x.Type != keys.Any {
			c.put("true", Declaration, "", "")
			c.put("false", Declaration, "", "")
		}
	}
	kinds := map[string]spec.Kind{"enum": spec.Enum, "init": spec.Initializer, "use": spec.Initializer, "other": spec.Operator}
	key := last(p)
	switch kind, names := kinds[key]; {
	case key == "formula" && len(p) == 1:
		if c.at.quoted {
			c.formula()
		}
	case names && len(p) > 1:
		for name, s := range c.snapshot.named {
			if s.Kind == kind {
				quoted(name, Spec, string(kind), strings.TrimSpace(s.Doc.V))
			}
		}
	case slices.Contains(prose, key) && len(p) != 2, key == "type" && p[0] == "attrs":
	case key == "default" && p[0] == "attrs":
		c.enumValues(attrOf(c.spec, slices.DeleteFunc(slices.Clone(p[1:len(p)-1]), func(s string) bool { return s == "fields" })), quoted)
	case p[0] == "examples" && len(p) > 2 && p[1] == "attrs":
		c.enumValues(attrOf(c.spec, p[2:]), quoted)
	case key == "type" && p[0] == "slots":
		for _, t := range c.spec.Types {
			quoted(t.Name, TypeVariable, "dtype variable", "")
		}
	case v != nil && v.Type&(keys.String|keys.Array) != 0 && len(v.Words) == 0 && c.at.quoted:
		c.declared()
		if v.Type&keys.Expression == keys.Expression || key == "that" || key == "shape" {
			c.functions(expr.Builtins())
		}
	}
	if p[0] == "dtypes" {
		for _, t := range slices.Concat(dtype.Words(), dtype.Names()) {
			quoted(t, ElementType, "element type", "")
		}
	}
}

// enumValues proposes the values of an enum attribute.
func (c *completer) enumValues(a *owned, put func(label string, kind Kind, detail, doc string)) {
	if a == nil || a.Type.V != "enum" {
		return
	}
	for _, v := range a.Values {
		put(v.V, EnumValue, "value of "+a.Name, "")
	}
	if e := c.snapshot.named[a.Enum.V]; e != nil {
		for _, v := range e.Values {
			put(v.Name.V, EnumValue, "value of "+a.Enum.V, v.Doc.V)
		}
	}
}

// declared proposes what the spec declares outside of its formula.
func (c *completer) declared() {
	if c.fields() {
		return
	}
	for name, kind := range declaredIn(c.spec) {
		c.put(name, kind, kindOf(c.spec, name), docOf(c.spec, name))
	}
}

// fields proposes the fields of a record behind its name and a dot. It reports whether there is such a name.
func (c *completer) fields() bool {
	m := behindDot.FindStringSubmatch(c.before)
	if m == nil {
		return false
	}
	if a := attrOf(c.spec, []string{m[1]}); a != nil {
		for _, f := range a.Fields {
			c.put(f.Name, Attribute, f.Type.V+" field of "+a.Name, f.Doc.V)
		}
		if a.Type.V == "enum" {
			c.enumValues(a, c.put)
		}
	}
	return true
}

var (
	behindDot   = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\.$`)
	comparison  = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\s*(?:[=!]=|(?:not )?in \[[^\]]*)\s*'$`)
	valueBefore = regexp.MustCompile(`(?m)^([A-Za-z_][A-Za-z0-9_]*)(?:\[| *=|,)`)
)

func (c *completer) functions(usages map[string]string) {
	for name, usage := range usages {
		c.put(name, Builtin, usage, builtinText(name))
	}
}

// formula proposes what may stand in a formula.
func (c *completer) formula() {
	if m := comparison.FindStringSubmatch(c.before); m != nil {
		c.enumValues(attrOf(c.spec, slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })), c.put)
		return
	}
	if strings.Count(c.before[strings.LastIndexByte(c.before, '\n')+1:], "'")%2 == 1 && strings.HasSuffix(c.before, "'") {
		return // in a text that is compared with something else
	}
	if c.fields() {
		return
	}
	for name, kind := range declaredIn(c.spec) {
		c.put(name, kind, kindOf(c.spec, name), docOf(c.spec, name))
	}
	formula := c.before + c.word + "\n" + c.spec.Formula.V
	for _, m := range valueBefore.FindAllStringSubmatch(formula, -1) {
		if _, declared := declaredIn(c.spec)[m[1]]; !declared && m[1] != c.word {
			c.put(m[1], Value, "value of the formula", "")
		}
	}
	f, _ := expr.ParseFormula(formula)
	for _, fn := range f.Functions {
		if !strings.Contains(fn.Name, ".") {
			c.put(fn.Name, Function, "function of the formula", "")
		}
	}
	c.functions(formulas.Builtins())
	for _, name := range slices.Sorted(maps.Keys(c.snapshot.named)) {
		if s := c.snapshot.named[name]; s.Kind == spec.Operator && name != c.name {
			c.put(name, Spec, "operator", strings.TrimSpace(s.Doc.V))
		}
	}
	if s := c.snapshot.named[calledAt(c.before)]; s != nil {
		for _, a := range s.Attrs {
			c.put(a.Name, Attribute, a.Type.V+" attribute of "+s.Name.V, a.Doc.V)
			c.out[len(c.out)-1].Insert = a.Name + " = "
		}
	}
}

// calledAt returns the function whose arguments the end of a text is among; "" if there is none.
func calledAt(text string) string {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				end := i
				for i > 0 && (isWord(text[i-1]) || text[i-1] == '.') {
					i--
				}
				return text[i:end]
			}
		}
	}
	return ""
}
