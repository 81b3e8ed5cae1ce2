package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// spec is what a schema becomes.
type spec struct {
	name, text string
	how        []string // by which means of the language, besides slots and attributes
}

// attributes are the types of attributes by kinds of arguments.
var attributes = map[string]string{
	"int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "string", "Scalar": "number",
	"ScalarType": "dtype", "Layout": "layout", "MemoryFormat": "memory_format",
}

// enums are the attributes that are values of an enum, with the values.
var enums = map[string][]string{
	"layout":        {"STRIDED", "SPARSE_COO", "SPARSE_CSR", "SPARSE_CSC", "SPARSE_BSR", "SPARSE_BSC", "MKLDNN"},
	"memory_format": {"CONTIGUOUS", "PRESERVE", "CHANNELS_LAST", "CHANNELS_LAST_3D"},
}

// elements are the types of results that are no tensors: each becomes a tensor of one element, and a list a
// tensor with one dimension.
var elements = map[string]string{"bool": "bool", "int": "i64", "SymInt": "i64", "float": "f64", "Scalar": "T"}

// scalarTypes are the numbers of element types in PyTorch, as defaults have them.
var scalarTypes = []string{"u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64"}

// lacking is why a schema is not sayable: the kinds of arguments and results that the language lacks.
type lacking []string

func (l lacking) Error() string { return strings.Join(l, ", ") }

// writer writes the spec of a schema.
type writer struct {
	schema               *schema
	used                 map[string]bool
	slots, attrs, inputs []string // inputs are the runs of the shapes of inputs
	inplace, how         []string
	seed                 bool
	lacks                lacking
}

// say returns the spec of a schema. The names of a schema become those of the language; what its element
// types and shapes are, no schema says: each tensor has one of the types that engines store, and a function
// in Go is the rule of shapes.
func say(s *schema) (*spec, error) {
	w := &writer{schema: s, used: map[string]bool{"t": true, "y": true, "seed": true}}
	if strings.HasSuffix(s.text, ", ...)") || slices.ContainsFunc(s.params, func(p param) bool { return p.kind == "..." }) {
		w.lack("any number of arguments of any type")
	}
	changed := false
	for _, p := range s.params {
		w.param(p)
		changed = changed || p.changed
	}
	for i, p := range s.results {
		if !p.changed || !changed {
			w.result(i, p)
		}
	}
	if len(s.results) == 0 && !changed {
		w.lack("no result")
	}
	if len(w.lacks) > 0 {
		return nil, w.lacks
	}
	return &spec{name: specName(s.name), text: w.text(), how: w.how}, nil
}

func (w *writer) lack(what string) {
	if !slices.Contains(w.lacks, what) {
		w.lacks = append(w.lacks, what)
	}
}

func (w *writer) means(what string) {
	if !slices.Contains(w.how, what) {
		w.how = append(w.how, what)
	}
}

// param writes an argument.
func (w *writer) param(p param) {
	kind, optional := strings.CutSuffix(p.kind, "?")
	kind, list := strings.CutSuffix(kind, "[]")
	name := w.name(p.name)
	switch {
	case kind == "Tensor":
		w.input(name, p, list, optional)
	case kind == "Tensor?" && list && !optional && !p.changed:
		w.means("a list of optional tensors is a variadic input with gaps")
		w.slots = append(w.slots, fmt.Sprintf(`%s = { role = "input", type = "T", variadic = { optional = true }, shape = ["%s[i]..."] }`, name, strings.ToUpper(name[:1])+name[1:]))
	case kind == "Device":
		w.means("a device is that of the graph")
	case kind == "Generator":
		w.means("a generator is the seed of the graph")
		w.seed = true
	case attributes[kind] != "":
		w.attr(name, attributes[kind], p, list, optional)
	default:
		w.lack(lack(p.kind))
	}
}

// input writes an argument that is a tensor, and a result in its place if it is changed.
func (w *writer) input(name string, p param, list, optional bool) {
	run := strings.ToUpper(name[:1]) + name[1:]
	shape := run + "..."
	keys := fmt.Sprintf("role = \"input\", type = \"T\"")
	if list {
		shape = run + "[i]..."
		keys += ", variadic = {}"
	}
	if optional {
		keys += `, present = "caller"`
		if !p.changed {
			shape = "_..." // what may be absent binds no dimension
		}
	} else {
		w.inputs = append(w.inputs, run)
	}
	w.slots = append(w.slots, fmt.Sprintf("%s = { %s, shape = [%q] }", name, keys, shape))
	if !p.changed {
		return
	}
	w.means("a changed argument is an input, and an output in its place")
	after := w.name("new_" + name)
	keys = "role = \"output\", type = \"T\""
	if list {
		keys += fmt.Sprintf(", variadic = { count = \"count(%s)\" }", name)
	}
	if optional {
		keys += fmt.Sprintf(", present = \"present(%s)\"", name)
	}
	w.slots = append(w.slots, fmt.Sprintf("%s = { %s, shape = [%q] }", after, keys, shape))
	w.inplace = append(w.inplace, fmt.Sprintf("%s = %q", after, name))
}

// attr writes an argument that is no tensor.
func (w *writer) attr(name, kind string, p param, list, optional bool) {
	keys := fmt.Sprintf("type = %q", kind)
	if enums[kind] != nil {
		keys = fmt.Sprintf("type = \"enum\", enum = %q", kind)
	}
	if kind == "number" {
		w.means("a Scalar is a number of any type")
	}
	if list {
		keys += ", list = true"
	}
	switch v := value(p.value, kind, list); {
	case optional && (p.value == "" || p.value == "None"), v == "" && p.value != "":
		keys += ", optional = true"
	case v != "":
		keys += ", default = " + v
	}
	w.attrs = append(w.attrs, fmt.Sprintf("%s = { %s }", name, keys))
}

// value returns a default in TOML, or "" if there is none.
func value(text, kind string, list bool) string {
	switch {
	case text == "" || text == "None" || enums[kind] != nil:
		return ""
	case list && strings.HasPrefix(text, "["):
		var values []string
		for _, v := range parts(text[1 : len(text)-1]) {
			values = append(values, value(v, kind, false))
		}
		return "[" + strings.Join(values, ", ") + "]"
	case list:
		return "[" + value(text, kind, false) + "]"
	case kind == "bool":
		return strings.ToLower(text)
	case kind == "string":
		return strings.NewReplacer(`\\`, `\\`, `\'`, `'`).Replace(text) // TOML refuses a backslash in front of '
	case kind == "dtype":
		if i, err := strconv.Atoi(text); err == nil && i < len(scalarTypes) {
			return strconv.Quote(scalarTypes[i])
		}
		return ""
	case text == "True":
		return "1"
	case text == "False":
		return "0"
	case strings.HasSuffix(text, "."):
		return text + "0"
	}
	return text
}

// result writes a result.
func (w *writer) result(i int, p param) {
	kind, optional := strings.CutSuffix(p.kind, "?")
	kind, list := strings.CutSuffix(kind, "[]")
	name := p.name
	if name == "" {
		name = fmt.Sprintf("result_%d", i+1)
	}
	name = w.name(name)
	keys := `role = "output"`
	switch {
	case kind == "Tensor":
		keys += `, type = "T"`
		if list {
			keys += ", variadic = {}"
		}
		if optional {
			keys += `, present = "caller"`
		}
		w.slots = append(w.slots, fmt.Sprintf("%s = { %s, shape = [\"Y...\"] }", name, keys))
	case elements[kind] != "" && !optional:
		w.means("a number that is returned is a tensor")
		shape := "[]"
		if list {
			shape = `["sum(Y)"]`
		}
		w.slots = append(w.slots, fmt.Sprintf("%s = { %s, type = %q, shape = %s }", name, keys, elements[kind], shape))
	default:
		w.lack("returned: " + lack(p.kind))
	}
}

// lack returns what the language lacks to say a kind.
func lack(kind string) string {
	switch {
	case strings.HasPrefix(kind, "__torch__"):
		return "an object of a library"
	case strings.HasPrefix(kind, "Dict"):
		return "Dict"
	case strings.HasPrefix(kind, "("):
		return "a tuple"
	case strings.HasPrefix(kind, "Tensor?[]"):
		return "Tensor?[]"
	case kind == "t" || kind == "t[]" || kind == "t?":
		return "a type variable"
	}
	return kind
}

var (
	words = regexp.MustCompile(`[^a-z0-9]+`)
	// reserved are names of arguments that the language has for something else.
	reserved = []string{"scalars", "inputs", "outputs", "redops", "in", "for", "when", "has", "or", "pi", "true", "false"}
)

// snake returns a name of the language.
func snake(name string) string {
	return strings.Trim(words.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// name returns the name of an argument or a result, which no other one has.
func (w *writer) name(name string) string {
	s := snake(name)
	if s == "" || s[0] >= '0' && s[0] <= '9' || slices.Contains(reserved, s) {
		s = "the_" + s
	}
	for n := 2; w.used[s]; n++ {
		s = fmt.Sprintf("%s_%d", strings.TrimRight(s, "_0123456789"), n)
	}
	w.used[s] = true
	return s
}

// specName returns the name of the spec of a schema.
func specName(name string) string {
	space, rest, _ := strings.Cut(name, "::")
	mark := ""
	if strings.HasPrefix(rest, "__") {
		mark = "own_own_"
	} else if strings.HasPrefix(rest, "_") {
		mark = "own_"
	}
	base, overload, _ := strings.Cut(rest, ".")
	s := snake(space) + "_" + mark + snake(base)
	if strings.HasPrefix(space, "_") {
		s = "own_" + s
	}
	if strings.HasSuffix(base, "_") {
		s += "_in_place"
	}
	if overload != "" {
		s += "_of_" + snake(overload)
		if strings.HasSuffix(overload, "_") {
			s += "_in_place"
		}
	}
	return s
}

// text returns the spec.
func (w *writer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "doc = \"A schema of PyTorch.\"\n")
	fmt.Fprintf(&b, "dtypes = { T = { in = [\"floating\", \"integer\", \"bool\"], from = \"f32\" } }\n")
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n%s\n", name, strings.Join(lines, "\n"))
		}
	}
	if w.seed {
		section("args", []string{`seed = { from = "seed" }`})
	}
	section("attrs", w.attrs)
	if slices.ContainsFunc(w.slots, func(s string) bool { return strings.Contains(s, "Y...") || strings.Contains(s, "sum(Y)") }) {
		section("dims", []string{fmt.Sprintf("Y = { shape_func = \"example.com/schemas/shapes.Of(%s)\" }", strings.Join(w.inputs, ", "))})
	}
	section("slots", w.slots)
	section("inplace", w.inplace)
	task := []string{`over = 1`}
	if w.seed {
		task = append(task, `args = ["seed"]`)
	}
	section("tasks.forward", task)
	return b.String()
}
