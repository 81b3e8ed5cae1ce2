package onnx

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/safetensors"
)

//go:embed functions.txt
var functionsText string

// definition says how nodes of ONNX compute an operator of ONNX that no entry of a catalogue computes.
type definition struct {
	domain, op      string
	since, until    int // versions of the operator set; until is 0 for all from since on
	inputs, outputs []string
	variadic        bool     // the last input stands for all that follow
	ignore          []string // attributes that change nothing
	first           bool     // whether it is tried in front of the entries of a catalogue
	steps           []step
	reads           map[string]bool // names that expressions read
}

// ownDomain is the domain of definitions that others share.
const ownDomain = "opgen"

// step is a line of a definition: a node, a name for the value of an expression, or a condition without which
// the definition does not apply.
type step struct {
	mapping.Line
	let, want string
	value     string
}

// definitions returns the definitions of an operator, by its domain and name.
var definitions = sync.OnceValue(func() map[functionKey][]*definition {
	list, err := parseDefinitions(functionsText)
	if err != nil {
		panic(err) // a test reads them
	}
	out := map[functionKey][]*definition{}
	for _, d := range list {
		k := functionKey{d.domain, d.op}
		out[k] = append(out[k], d)
	}
	return out
})

// Functions returns the operators that package onnx expands, as nodes of other operators compute them: their
// names, behind that of their domain if it is not ai.onnx.
func Functions() []string {
	var out []string
	for k := range definitions() {
		if k.domain == ownDomain {
			continue
		}
		out = append(out, strings.TrimPrefix(k.domain+"."+k.name, "."))
	}
	slices.Sort(out)
	return out
}

// parseDefinitions reads definitions. functions.txt says how they are written.
func parseDefinitions(text string) (list []*definition, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if line[0] != '\t' {
			d, err := parseHeader(trimmed)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			list = append(list, d)
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("line %d: want an operator in front of it", number)
		}
		if err := list[len(list)-1].add(trimmed); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return list, nil
}

// parseHeader reads the line that begins a definition: the operator with its inputs, its outputs, and words
// with values.
func parseHeader(text string) (*definition, error) {
	call, rest, found := strings.Cut(text, " -> ")
	name, args, called := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	if !found || !called {
		return nil, fmt.Errorf("want Operator(inputs) -> outputs, got %s", text)
	}
	d := &definition{since: 1, inputs: list(args), reads: map[string]bool{}}
	d.domain, d.op = splitName(name)
	if n := len(d.inputs) - 1; n >= 0 {
		d.inputs[n], d.variadic = strings.CutSuffix(d.inputs[n], "...")
	}
	words := strings.Split(rest, "; ")
	d.outputs = list(words[0])
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, " ")
		var err error
		switch key {
		case "since":
			d.since, err = strconv.Atoi(value)
		case "until":
			d.until, err = strconv.Atoi(value)
		case "ignore":
			d.ignore = list(value)
		case "first":
			d.first = true
		default:
			err = fmt.Errorf("want since, until, ignore or first, got %s", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// splitName returns the domain and the name of an operator.
func splitName(name string) (domain, op string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// list returns the words between commas.
func list(text string) (out []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// add adds a line.
func (d *definition) add(text string) error {
	var s step
	if rest, ok := strings.CutPrefix(text, "want "); ok {
		s.want = rest
	} else if rest, ok := strings.CutPrefix(text, "let "); ok {
		if s.let, s.value, ok = strings.Cut(rest, " = "); !ok {
			return fmt.Errorf("want let name = value, got %s", text)
		}
	} else {
		lines, err := mapping.Body(text)
		if err != nil {
			return err
		}
		s.Line = lines[0]
	}
	for _, e := range append([]string{s.want, s.value}, s.Expressions()...) {
		if e == "" {
			continue
		}
		x, err := mapping.Parse(e)
		if err != nil {
			return err
		}
		for _, name := range x.Names() {
			d.reads[name] = true
		}
	}
	d.steps = append(d.steps, s)
	return nil
}

// defined computes a node as a definition says, of those in front of entries or of the others; nil if none
// applies, with reasons.
func (b *builder) defined(c *call, first bool) (outs []*value, reasons []string, err error) {
	for _, d := range definitions()[functionKey{c.domain, c.node.GetOpType()}] {
		if d.first != first || c.version < d.since || d.until != 0 && c.version > d.until {
			continue
		}
		x := &inlined{b: b, c: c, d: d, values: map[string]*value{}, lets: map[string]any{}}
		outs, err = x.run()
		if unmet, ok := err.(unmetError); ok {
			reasons = append(reasons, unmet.Error())
			continue
		}
		return outs, nil, err
	}
	return nil, reasons, nil
}

// unmetError says what a definition computes, where that is another node.
type unmetError string

func (e unmetError) Error() string { return "a definition " + string(e) }

// inlined is a definition of which the nodes are inserted.
type inlined struct {
	b      *builder
	c      *call
	d      *definition
	values map[string]*value // of inputs and of what lines gave; nil for absent ones
	rest   []*value          // of the variadic input
	lets   map[string]any
	errs   []error
}

func (x *inlined) run() ([]*value, error) {
	b, c, d := x.b, x.c, x.d
	if b.depth++; b.depth > maxDepth {
		return nil, fmt.Errorf("onnx: want functions and branches at most %d deep within each other", maxDepth)
	}
	defer func() { b.depth-- }()
	if b.expanded += len(d.steps); b.expanded > maxExpanded {
		return nil, fmt.Errorf("onnx: want functions and branches of at most %d nodes", maxExpanded)
	}
	inputs := d.inputs
	if d.variadic {
		inputs = inputs[:len(inputs)-1]
		if x.rest = c.inputs[min(len(inputs), len(c.inputs)):]; len(x.rest) == 0 {
			return nil, unmetError(fmt.Sprintf("of more than %d inputs", len(inputs)))
		}
	}
	for i := len(d.inputs); i < len(c.inputs) && !d.variadic; i++ {
		if c.inputs[i] != nil {
			return nil, unmetError(fmt.Sprintf("of at most %d inputs", len(d.inputs)))
		}
	}
	for i, name := range inputs {
		x.values[name] = c.input(i)
	}
	checked := false
	for i := range d.steps {
		// Conditions in front of the nodes say whether the definition is the one to ask about attributes.
		if s := &d.steps[i]; s.want == "" && s.let == "" && !checked {
			if err := x.attributes(); err != nil {
				return nil, err
			}
			checked = true
		}
		if err := x.step(&d.steps[i]); err != nil {
			return nil, err
		}
	}
	outs := make([]*value, max(len(c.node.GetOutput()), 1))
	for i := range outs {
		if i >= len(c.node.GetOutput()) || c.node.GetOutput()[i] == "" {
			continue
		}
		if i < len(d.outputs) {
			outs[i] = x.values[d.outputs[i]]
		}
		if outs[i] == nil {
			return nil, fmt.Errorf("want no output %d, got %s", i, c.node.GetOutput()[i])
		}
		if b.variables == nil && !outs[i].tensor.Valid() {
			t, err := b.tensorOf(outs[i])
			if err != nil {
				return nil, err
			}
			outs[i] = b.bound(t)
		}
	}
	return outs, nil
}

// attributes refuses attributes of the node that the definition does not read.
func (x *inlined) attributes() error {
	for _, a := range x.c.node.GetAttribute() {
		if !x.d.reads[a.GetName()] && !slices.Contains(x.d.ignore, a.GetName()) {
			return fmt.Errorf("the attribute %s has no meaning here", a.GetName())
		}
	}
	return nil
}

// step computes a line.
func (x *inlined) step(s *step) error {
	switch {
	case s.want != "":
		v, err := x.eval(s.want)
		if err == nil && v != true {
			err = unmetError("when " + s.want)
		}
		return err
	case s.let != "":
		v, err := x.eval(s.value)
		x.lets[s.let] = v
		return err
	}
	if s.When != "" {
		v, err := x.eval(s.When)
		if err != nil || v != true {
			return err
		}
	}
	if err := x.node(&s.Line); err != nil {
		return fmt.Errorf("%s: %w", s.Op, err)
	}
	return nil
}

// node inserts the node of a line.
func (x *inlined) node(l *mapping.Line) error {
	domain, op := splitName(l.Op)
	n := &onnxpb.NodeProto{OpType: &op, Name: x.c.node.Name, Output: l.Outputs}
	kind := dtype.F32
	for k := len(l.Args) - 1; k >= 0; k-- {
		if v := x.values[l.Args[k].Name]; v != nil {
			t, _, err := x.b.typeOf(v)
			if err != nil {
				return err
			}
			if t.IsFloat() {
				kind = t
			}
		}
	}
	inner := &call{node: n, scope: newScope(nil, nil), domain: domain, version: newest}
	for _, arg := range l.Args {
		if x.d.variadic && arg.Name == x.d.inputs[len(x.d.inputs)-1] {
			inner.inputs = append(inner.inputs, x.rest...)
			continue
		}
		v, isValue := x.values[arg.Name]
		if !isValue {
			of, err := x.eval(cmp.Or(arg.Text, arg.Name))
			if err == nil && of != nil {
				v, err = x.constant(of, arg.Type, kind)
			}
			if err != nil {
				return err
			}
		}
		inner.inputs = append(inner.inputs, v)
	}
	for k := len(inner.inputs); k > 0 && inner.inputs[k-1] == nil; k-- {
		inner.inputs = inner.inputs[:k-1]
	}
	for _, a := range l.Attrs {
		v, err := x.eval(a.Value)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		p, err := attributeProto(a.Name, v)
		if err != nil {
			return err
		}
		n.Attribute = append(n.Attribute, p)
	}
	outs, err := x.outputs(inner)
	if err != nil {
		return err
	}
	for k, name := range l.Outputs {
		if k >= len(outs) || outs[k] == nil {
			return fmt.Errorf("want an output %d, got none", k)
		}
		x.values[name] = outs[k]
	}
	return nil
}

// outputs computes the outputs of a node: of an operator, or of the graph in an attribute.
func (x *inlined) outputs(inner *call) ([]*value, error) {
	op := inner.node.GetOpType()
	if x.c.attribute(op).GetG() == nil {
		return x.b.call(inner)
	}
	g, err := x.b.body(x.c, op)
	if err != nil {
		return nil, err
	}
	return g.run(x.b, inner.inputs...)
}

// constant returns the value of an expression as a constant, of the element type that another one names.
func (x *inlined) constant(v any, of string, kind dtype.Type) (*value, error) {
	if of != "" {
		name, err := x.eval(of)
		if err != nil {
			return nil, err
		}
		t, err := dtype.Parse(fmt.Sprint(name))
		if err != nil {
			return nil, err
		}
		out, err := tensorOfNumbers(v, t)
		return constant("", out), err
	}
	out, err := tensorOfNumbers(v, kindOf(v, kind))
	return constant("", out), err
}

// eval computes an expression.
func (x *inlined) eval(text string) (any, error) {
	e, err := mapping.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := e.Eval(x.lookup, x.about)
	if len(x.errs) > 0 {
		return nil, x.errs[0]
	}
	return v, err
}

// lookup returns the value of a name: an expression's, a constant tensor's, or an attribute's.
func (x *inlined) lookup(name string) any {
	if v, ok := x.lets[name]; ok {
		return v
	}
	switch name {
	case "outputs":
		return len(x.c.node.GetOutput())
	case "inputs":
		return len(x.c.inputs)
	}
	var out any
	var err error
	if v, ok := x.values[name]; ok {
		if v == nil {
			return nil
		}
		if err = x.b.fold.value(v); err == nil {
			out, err = known(*v.data)
		}
	} else if a := x.c.attribute(name); a.GetG() != nil {
		out = a.GetG().GetName()
	} else if a != nil {
		out, err = attribute(a)
	}
	if err != nil {
		x.errs = append(x.errs, fmt.Errorf("%s: %w", name, err))
	}
	return out
}

// about computes functions of tensors.
func (x *inlined) about(function, name string) (any, error) {
	if i := slices.Index(x.d.outputs, name); i >= 0 && function == "present" {
		return i < len(x.c.node.GetOutput()) && x.c.node.GetOutput()[i] != "", nil
	}
	if a := x.c.attribute(name); function == "type" && a.GetT() != nil {
		return typeName(onnxpb.TensorProto_DataType(a.GetT().GetDataType())), nil
	}
	v, ok := x.values[name]
	if !ok {
		return nil, fmt.Errorf("want a tensor, got %s", name)
	}
	switch function {
	case "present":
		return v != nil, nil
	case "known":
		return v != nil && v.constant(), nil
	}
	if v == nil {
		return nil, fmt.Errorf("want a tensor for %s, got none", name)
	}
	if function == "type" && v.narrow != dtype.Invalid {
		return v.narrow.String(), nil
	}
	t, shape, err := x.b.typeOf(v)
	if err != nil {
		return nil, err
	}
	return describe(function, operand{kind: t, shape: shape})
}

// kindOf returns the element type of a constant: integers are of i64, and floats of another type.
func kindOf(v any, float dtype.Type) dtype.Type {
	switch v.(type) {
	case int, []int:
		return dtype.I64
	case bool:
		return dtype.Bool
	}
	return float
}

// tensorOfNumbers returns a number or a list as a tensor of an element type.
func tensorOfNumbers(v any, kind dtype.Type) (t safetensors.Tensor, err error) {
	var list []float64
	t = safetensors.Tensor{Type: kind, Shape: []int{}}
	switch v := v.(type) {
	case int:
		list = []float64{float64(v)}
	case bool:
		list = []float64{map[bool]float64{true: 1}[v]}
	case float64:
		list = []float64{v}
	case []int:
		t.Shape = []int{len(v)}
		for _, n := range v {
			list = append(list, float64(n))
		}
	case []float64:
		t.Shape, list = []int{len(v)}, v
	default:
		return t, fmt.Errorf("want numbers, got %v", v)
	}
	if t.Type.IsFloat() {
		wide, err := safetensors.Of(t.Shape, list)
		if err != nil {
			return t, err
		}
		return wide.As(t.Type)
	}
	size := t.Type.Size()
	t.Data = make([]byte, size*len(list))
	for i, x := range list {
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return t, fmt.Errorf("want integers, got %v", x)
		}
		t.Type.PutFloat64(t.Data[i*size:], x)
	}
	return t, nil
}
