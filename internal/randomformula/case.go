// Package randomformula writes random operators with formulas, for tests that compare what implementations of
// formulas compute. A formula has what the language has, crossed: ranges that depend on other indices, also
// of the same sum, empty, reversed and shifted ones, reads outside with else, look-ups at places that values
// decide, digits and remainders, scans, orders, histograms, conditions, several statements that feed each
// other, functions, and gradients by hand. Kinds have lists of tensors, inputs that may be absent, runs of
// dimensions, attributes of all types, and other operators, too.
//
// A formula is a random one for a seed, so that a seed is all that a report needs. Not every one passes opgen
// check: those that do must be right.
package randomformula

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Slot is an input or an output of a random operator.
type Slot struct {
	Name   string
	Type   string   // an element type, or T
	Shape  []string // of dimensions and numbers
	Below  string   // the bound of integers, or ""
	Except string   // the integer that may lie outside of the bound, or ""
	Fixed  bool     // an input of real numbers without a gradient
	Owned  bool     // a weight
	// Requested is set for an output that there is on request only.
	Requested bool
	// Number is the name in Dims of the number of tensors, or "" for one tensor. In the shape of a list, C is
	// an extent of each tensor's own: that of tensor i is C0, C1 and so on in Dims.
	Number string
	Least  int // the least number of tensors of a list
	// Declared is the shape in the spec, in TOML, if Shape has the extents of the use.
	Declared string
	Of       string // the list as many tensors as which an output has, or ""
}

// mayLack reports whether there may be a use without a tensor in the slot. Such a slot gives no dimension.
func (s Slot) mayLack() bool { return s.Number != "" && s.Least == 0 }

// Case is a random operator with extents and the way in which its inputs are drawn.
type Case struct {
	Name            string
	Lines           []string
	Inputs, Outputs []Slot
	Attrs           string // the attributes of the use, as JSON
	Declared        string // the attributes of the spec, in TOML
	Require         []string
	Scatter         []string         // inputs to whose gradients elements are added
	Dims            map[string]int   // extents of the use
	Example         map[string]int   // extents of the example in the spec
	Run             []int            // the extents of N, if N is a run of dimensions; nil if it is one
	Runs            map[string][]int // extents of runs such as X... in the use
	ExampleRuns     map[string][]int // and in the example
	Defined         string           // the dimensions that the spec defines, in TOML
	Type            string           // f16, bf16, f32 or f64
	Few             bool             // whether inputs are drawn from few numbers, so that some are equal
	Unasked         bool             // whether the use has no outputs on request
	Values          uint64           // the seed of their elements
	// Numbers says how elements are drawn: "" is around 1, "zeros" also rows of 0, "equal" rows of one
	// number, "great" and "small" of many sizes, "far" of one size far from 1, "tiny" below the least normal
	// number, "shares" from 0 to 1, also 0 and 1, "special" also NaN and infinities, "bits" integers with all
	// their bits, and "bounds" those at the bounds of their types. Of real numbers, only x and u are drawn
	// so.
	Numbers string
	// Apart is by how much a result in f32 may differ, where the oracle bounds digits as those of f64: what
	// is computed from integers alone has them. It is 0 where the oracle bounds digits as those of the type.
	Apart float64
	// Meant are lines that mean the same, for an oracle that bounds their digits better; nil if they are the
	// lines themselves.
	Meant    []string
	Features map[string]bool
	Applied  []string // names of the operators that the formula applies, see OtherSpec
	// Optimizer is set for an operator that updates a weight.
	Optimizer bool
	Text      string // the spec, if it is a given one
	Variable  string // its dtype variable, which Type is
}

// Spec returns the operator's spec.
func (c *Case) Spec() string {
	if c.Text != "" {
		return c.Text
	}
	var b strings.Builder
	kind := ""
	if c.Optimizer {
		kind = "kind = \"optimizer\"\n"
	}
	fmt.Fprintf(&b, "edition = 1\nname = %q\n"+kind+"doc = \"A random operator.\"\nformula = \"\"\"\n%s\"\"\"\n\n[dtypes]\nT = [\"f16\", \"bf16\", \"f32\", \"f64\"]\n", c.Name, strings.Join(c.Lines, "\n"))
	if c.Declared != "" {
		fmt.Fprintf(&b, "\n[attrs]\n%s", c.Declared)
	}
	if c.Defined != "" {
		fmt.Fprintf(&b, "\n[dims]\n%s", c.Defined)
	}
	b.WriteString("\n[slots]\n")
	for _, s := range c.Inputs {
		role := "input"
		if s.Owned {
			role = "weight"
		}
		fmt.Fprintf(&b, "%s = { role = %q, type = %q, shape = %s", s.Name, role, s.Type, c.tomlShape(s.Shape))
		if s.Below != "" {
			fmt.Fprintf(&b, ", below = %q", s.Below)
		}
		if s.Except != "" {
			fmt.Fprintf(&b, ", except = %q", s.Except)
		}
		if s.Fixed {
			b.WriteString(", trainable = false")
		}
		switch {
		case s.Owned:
			fmt.Fprintf(&b, ", init = %q", initializer)
		case s.Number == present:
			b.WriteString(", present = \"caller\"")
		case s.Number != "":
			fmt.Fprintf(&b, ", variadic = { min = %d }", s.Least)
		}
		b.WriteString(" }\n")
	}
	for _, s := range c.Outputs {
		fmt.Fprintf(&b, "%s = { role = \"output\", type = %q, shape = %s", s.Name, s.Type, cmp.Or(s.Declared, c.tomlShape(s.Shape)))
		if s.Requested {
			b.WriteString(", present = \"caller\"")
		}
		if s.Of != "" {
			fmt.Fprintf(&b, ", variadic = { count = \"count(%s)\" }", s.Of)
		}
		b.WriteString(" }\n")
	}
	for i, r := range c.Require {
		fmt.Fprintf(&b, "\n[require.r%d]\nthat = %q\nmessage = \"want other extents\"\n", i, r)
	}
	if !c.Optimizer {
		b.WriteString("\n[tasks.forward]\n")
	}
	if c.Differentiable() {
		b.WriteString("[tasks.backward]\n")
		if len(c.Scatter) > 0 {
			var grads []string
			for _, s := range c.Scatter {
				grads = append(grads, s+" = \"scatter\"")
			}
			fmt.Fprintf(&b, "grads = { %s }\n", strings.Join(grads, ", "))
		}
	}
	shown := ""
	if strings.Contains(c.Declared, "flag") { // which is another one in half of the uses
		shown = fmt.Sprintf("attrs = { flag = %v }\n", c.Values%8 < 4)
	}
	var given []string
	for _, a := range attributes {
		if a.shown != "" && strings.Contains(c.Declared, a.name+" = ") {
			given = append(given, a.name+" = "+a.shown)
		}
	}
	if given != nil {
		shown = fmt.Sprintf("attrs = { %s }\n", strings.Join(given, ", "))
	}
	c.writeExample(&b, shown)
	return b.String()
}

// Differentiable reports whether the operator has gradients.
func (c *Case) Differentiable() bool {
	return !c.Optimizer && slices.ContainsFunc(c.Inputs, c.HasGradient) && slices.ContainsFunc(c.Outputs, c.HasGradient)
}

// Has reports whether the use has an output.
func (c *Case) Has(s Slot) bool { return !s.Requested || !c.Unasked }

// TypeOf returns the element type of a slot in the use.
func (c *Case) TypeOf(s Slot) string {
	if s.Type == "T" || s.Type == c.Variable {
		return c.Type
	}
	return s.Type
}

// HasGradient reports whether a slot has a gradient.
func (c *Case) HasGradient(s Slot) bool {
	return !s.Fixed && slices.Contains([]string{"f16", "bf16", "f32", "f64"}, c.TypeOf(s))
}

// half makes one of three cases one of f16 or bf16, if elements are drawn around 1, or from 0 to 1.
func (c *Case) half(number uint64) *Case {
	if c != nil && (c.Numbers == "" || c.Numbers == "shares") && number%3 == 1 {
		c.Type = []string{"bf16", "f16"}[number/3%2]
	}
	return c
}

// Extents returns the extents of a shape in the use.
func (c *Case) Extents(shape []string) []int { return extents(shape, c.Dims, runs(c.Runs, c.Run)) }

// Tensors returns the shapes of a slot's tensors in the use.
func (c *Case) Tensors(s Slot) [][]int { return tensors(s, c.Dims, runs(c.Runs, c.Run)) }

// runs returns the extents of all runs by their names in shapes. n are those of N, if it is one.
func runs(of map[string][]int, n []int) map[string][]int {
	if n == nil {
		return of
	}
	return map[string][]int{"N": n}
}

func tensors(s Slot, dims map[string]int, runs map[string][]int) [][]int {
	if s.Number == "" {
		return [][]int{extents(s.Shape, dims, runs)}
	}
	out := [][]int{}
	for i := range dims[s.Number] {
		own := slices.Clone(s.Shape)
		for k, d := range own {
			if d == "C" {
				own[k] = fmt.Sprintf("C%d", i)
			}
		}
		out = append(out, extents(own, dims, runs))
	}
	return out
}

func extents(shape []string, dims map[string]int, runs map[string][]int) []int {
	out := []int{}
	for _, d := range shape {
		if run, ok := runs[d]; ok {
			out = append(out, run...)
			continue
		}
		n, ok := dims[d]
		switch outer, inner, product := strings.Cut(d, " * "); {
		case ok:
		case product:
			n = dims[outer] * dims[inner]
		case d == total:
			for i := range dims["ys"] {
				n += dims[fmt.Sprintf("C%d", i)]
			}
		default:
			fmt.Sscan(d, &n)
		}
		out = append(out, n)
	}
	return out
}

// Clone returns a copy.
func (c *Case) Clone() *Case {
	out := *c
	out.Lines, out.Inputs, out.Outputs = slices.Clone(c.Lines), slices.Clone(c.Inputs), slices.Clone(c.Outputs)
	out.Dims, out.Example, out.Features = maps.Clone(c.Dims), maps.Clone(c.Example), maps.Clone(c.Features)
	out.Run, out.Meant = slices.Clone(c.Run), slices.Clone(c.Meant)
	out.Require, out.Scatter = slices.Clone(c.Require), slices.Clone(c.Scatter)
	return &out
}

func (c *Case) writeExample(b *strings.Builder, attrs string) {
	b.WriteString("\n[[examples]]\n" + attrs)
	of := c.ExampleRuns
	if c.Run != nil {
		of = runs(nil, []int{3, 2})
	}
	for _, s := range c.Inputs {
		if s.Owned { // whose shapes follow
			continue
		}
		shapes := tensors(s, c.Example, of)
		text := fmt.Sprint(shapes)
		if s.Number == "" || s.Number == present && len(shapes) > 0 {
			text = fmt.Sprint(shapes[0])
		} else if s.Number == present {
			continue
		}
		fmt.Fprintf(b, "%s = %s\n", s.Name, strings.ReplaceAll(text, " ", ", "))
	}
}

func (c *Case) tomlShape(shape []string) string {
	out := []string{}
	for _, d := range shape {
		if d == "N" && c.Run != nil {
			out = append(out, `"N..."`)
		} else if d == "C" {
			out = append(out, `"C[i]"`)
		} else if strings.Trim(d, "0123456789") == "" {
			out = append(out, d)
		} else {
			out = append(out, fmt.Sprintf("%q", d))
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// record is the start of the declaration of a record, all of whose fields have defaults or may be absent.
const record = `{ type = "record", fields = { gamma = { type = "float", default = 0.75 }, power = { type = "int", default = 2, min = 1 }, on = { type = "bool", default = true }, ` +
	`kind = { type = "enum", values = ["TANH", "SIN", "ABS"], default = "SIN" }, parts = { type = "float", list = true, default = [0.5, 1.5] }, cap = { type = "float", optional = true } }`

// attributes are what formulas may use, as specs declare them.
var attributes = []struct{ name, declared, shown string }{
	{"rate", "rate = { type = \"float\", default = 0.5 }\n", ""}, {"size", "size = { type = \"int\", min = 1, default = 2 }\n", ""},
	{"flag", "flag = { type = \"bool\", default = true }\n", ""}, {"shares", "shares = { type = \"float\", list = true, default = [0.5, 2.0] }\n", ""},
	{"steps", "steps = { type = \"int\", list = true, default = [1] }\n", ""}, {"signed", "signed = { type = \"bool\", list = true, len = 3, default = [true, false, true] }\n", ""},
	{"cap", "cap = { type = \"float\", optional = true }\n", ""}, {"mode", "mode = { type = \"enum\", values = [\"NEAR\", \"FAR\"], default = \"NEAR\" }\n", ""},
	{"seed", "seed = { type = \"int\", default = 5 }\n", ""}, {"rec", "rec = " + record + ", default = {} }\n", ""}, {"alt", "alt = " + record + ", optional = true }\n", ""},
	{"axes", "axes = { type = \"axes\", of = \"whole\" }\n", "[0]"}, {"perm", "perm = { type = \"axes\", of = \"whole\" }\n", "[1, 0]"},
	{"places", "places = { type = \"int\", list = true, min = 0 }\n", "[1]"}, {"dim", "dim = { type = \"axis\", of = \"lane\", binds = \"R\" }\n", "1"},
}

// Tidy leaves out what the lines do not use: values, functions, inputs and attributes. An input whose
// elements nothing reads stays if it gives a dimension.
func (c *Case) Tidy() {
	c.Lines = prune(c.Lines)
	text := strings.Join(c.Lines, "\n")
	c.Outputs = slices.DeleteFunc(c.Outputs, func(s Slot) bool { return !mentions(text, s.Name) })
	needed, bound := map[string]bool{}, map[string]bool{}
	for _, d := range []string{"N", "K", "M"} {
		index := strings.ToLower(d)
		needed[d] = mentions(text, d) || mentions(strings.ReplaceAll(text, "'", " "), index)
		for _, r := range c.Require {
			needed[d] = needed[d] || strings.HasPrefix(r, d)
		}
		for _, s := range c.Outputs {
			needed[d] = needed[d] || slices.ContainsFunc(s.Shape, func(x string) bool { return mentions(x, d) })
		}
	}
	c.Inputs = slices.DeleteFunc(c.Inputs, func(s Slot) bool {
		return !mentions(text, s.Name) && !(c.Optimizer && (s.Name == updated || s.Name == "grad"))
	})
	for _, s := range c.Inputs {
		needed[s.Below] = s.Below != ""
		if s.mayLack() || s.Owned {
			for _, d := range s.Shape {
				needed[d] = needed[d] || s.Owned
			}
			continue
		}
		for _, d := range s.Shape {
			bound[d] = true
		}
	}
	for _, d := range []string{"N", "K", "M"} {
		if !c.Optimizer && (needed[d] && !bound[d] || d == "N" && len(c.Inputs) == 0) {
			c.Inputs = append(c.Inputs, Slot{Name: "sizes_" + strings.ToLower(d), Type: "T", Shape: []string{d}, Fixed: true})
		}
	}
	slices.SortStableFunc(c.Inputs, func(a, b Slot) int { // behind those that give the dimensions
		rank := map[bool]int{true: 1}
		return rank[a.mayLack()] - rank[b.mayLack()]
	})
	for _, list := range [][]Slot{c.Inputs, c.Outputs} { // attributes that only shapes have
		for _, s := range list {
			text += "\n" + s.Declared
			if slices.Contains(s.Shape, "A...") {
				text += " dim"
			}
		}
	}
	c.Defined = ""
	for _, d := range defined {
		if slices.ContainsFunc(c.Outputs, func(s Slot) bool { return slices.Contains(s.Shape, d.name+"...") }) {
			c.Defined += d.name + " = " + d.value + "\n"
		}
	}
	c.Scatter = nil
	var values []string
	c.Declared = ""
	for _, a := range attributes {
		if mentions(text, a.name) && (a.shown == "" || c.Runs != nil) {
			c.Declared += a.declared
			for _, v := range strings.Split(c.Attrs[1:len(c.Attrs)-1], ", ") {
				if strings.HasPrefix(v, "\""+a.name+"\"") {
					values = append(values, v)
				}
			}
		}
	}
	c.Attrs = "{" + strings.Join(values, ", ") + "}"
}
