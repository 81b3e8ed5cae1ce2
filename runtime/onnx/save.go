package onnx

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// Save writes a program of graph.Inference as a model of ONNX, with the values of its variables. Its inputs
// and outputs have the names of the program's tensors. Each node becomes those that the entries of the
// catalogue give, read from the operator to ONNX. What they cannot say is an error, a *NotSaved, and nothing
// is written.
//
// Each node that is written was read again as Model.Insert reads it, and gave the operator that it stands
// for, with its attributes.
func Save(w io.Writer, c *Catalogue, p *graph.Program, variables map[string]safetensors.Tensor) error {
	m, err := newSaver(c).model(p, variables)
	if err != nil {
		return err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	if len(data) > maxFile {
		return fmt.Errorf("onnx: want a model of at most %d bytes, got %d", int64(maxFile), len(data))
	}
	_, err = w.Write(data)
	return err
}

// NotSaved is the error of a node that ONNX does not have, as far as the catalogue knows.
type NotSaved struct {
	Operator, Node string
	Missing        string // what is missing
}

// Error names the operator, the node and what is missing.
func (r *NotSaved) Error() string {
	return fmt.Sprintf("onnx: %s, node %q: %s", r.Operator, r.Node, r.Missing)
}

// irVersion is the version of the file format that is written: the first one with all that models need.
const irVersion = 10

// saver collects the parts of a model.
type saver struct {
	catalogue *catalogue
	entries   map[string][]*mapping.Entry // by operator of the catalogue
	opset     int
	graph     *onnxpb.GraphProto
	domains   map[string]bool
	tensors   map[string]*value // what is known of each name in the file
	read      map[string]bool   // tensors of the program that something reads
	names     map[string]bool
}

func newSaver(c *Catalogue) *saver {
	s := &saver{catalogue: newCatalogue(c), entries: map[string][]*mapping.Entry{}, graph: &onnxpb.GraphProto{Name: new("opgen")},
		domains: map[string]bool{}, tensors: map[string]*value{}, read: map[string]bool{}, names: map[string]bool{}}
	for i := range c.Entries {
		e := &c.Entries[i]
		s.entries[e.Operator] = append(s.entries[e.Operator], e)
		s.opset = max(s.opset, e.Since, e.Until)
	}
	return s
}

// model returns the program as a model.
func (s *saver) model(p *graph.Program, variables map[string]safetensors.Tensor) (*onnxpb.ModelProto, error) {
	for i := range p.Steps {
		inv := p.Steps[i].Invocation
		if f := p.Steps[i].Fill; f != nil && f.Identity != perm.NoRedop {
			continue // a sum begins with 0
		}
		if inv == nil || inv.Signature.Kind != task.KindForward {
			return nil, fmt.Errorf("onnx: program %s, step %d: want a program of graph.Inference, in which each step computes a node", p.Name, i)
		}
		for slot := range inv.Node.Op.Slots {
			if r := inv.Node.Op.Slots[slot].Role; r == task.RoleInput || r == task.RoleWeight {
				for _, t := range inv.Node.Tensors(slot) {
					s.read[t.Name()] = true
				}
			}
		}
	}
	for _, t := range p.Fetched {
		s.read[t.Name()] = true
	}
	for _, t := range p.Fed {
		if err := s.port(&s.graph.Input, t); err != nil {
			return nil, err
		}
		s.tensors[t.Name()] = &value{name: t.Name(), tensor: t}
	}
	for _, t := range p.Variables {
		v, ok := variables[t.Name()]
		if !ok || v.Type != t.Type() || !t.ShapeIs(v.Shape) || len(v.Data) != t.Elements()*t.Type().Size() {
			return nil, fmt.Errorf("onnx: variable %s: want its value, of %v, got %v%v of %d bytes", t.Name(), t, v.Type, v.Shape, len(v.Data))
		}
		if err := s.constant(t.Name(), v); err != nil {
			return nil, err
		}
	}
	for i := range p.Steps {
		if p.Steps[i].Invocation == nil {
			continue
		}
		a, err := useOf(p.Steps[i].Invocation.Node)
		if err == nil {
			err = s.node(a)
		}
		if err != nil {
			return nil, err
		}
	}
	fetched := map[string]bool{}
	for _, t := range p.Fetched {
		if fetched[t.Name()] {
			continue
		}
		fetched[t.Name()] = true
		v := s.tensors[t.Name()]
		if v == nil {
			return nil, fmt.Errorf("onnx: output %s: want a tensor that the program computes", t.Name())
		}
		if err := s.port(&s.graph.Output, t); err != nil {
			return nil, err
		}
	}
	m := &onnxpb.ModelProto{IrVersion: new(int64(irVersion)), ProducerName: new("opgen"), Graph: s.graph,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: new(""), Version: new(int64(s.opset))}}}
	for _, d := range slices.Sorted(maps.Keys(s.domains)) {
		m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: &d, Version: new(int64(1))})
	}
	return m, nil
}

// port adds a tensor to the inputs or the outputs of the model.
func (s *saver) port(list *[]*onnxpb.ValueInfoProto, t graph.Tensor) error {
	kind, err := onnxType(t.Type().String())
	if err != nil {
		return fmt.Errorf("onnx: tensor %s: %w", t.Name(), err)
	}
	p := &onnxpb.TypeProto_Tensor{ElemType: &kind, Shape: &onnxpb.TensorShapeProto{}}
	for _, n := range t.Shape() {
		p.Shape.Dim = append(p.Shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(n)}})
	}
	*list = append(*list, &onnxpb.ValueInfoProto{Name: new(t.Name()), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: p}}})
	return nil
}

// constant adds a tensor to the initializers.
func (s *saver) constant(name string, t safetensors.Tensor) error {
	p, err := tensorProto(name, t)
	if err != nil {
		return err
	}
	s.graph.Initializer = append(s.graph.Initializer, p)
	s.tensors[name] = constant(name, t)
	return nil
}

func tensorProto(name string, t safetensors.Tensor) (*onnxpb.TensorProto, error) {
	kind, err := onnxType(t.Type.String())
	if err != nil {
		return nil, fmt.Errorf("onnx: tensor %s: %w", name, err)
	}
	p := &onnxpb.TensorProto{Name: &name, DataType: &kind, RawData: t.Data}
	if p.RawData == nil {
		p.RawData = []byte{}
	}
	for _, n := range t.Shape {
		p.Dims = append(p.Dims, int64(n))
	}
	return p, nil
}

// applied is a use of an operator that is saved: a node of the program, or a part of one.
type applied struct {
	op    *graph.Operator
	name  string
	attrs map[string]any // values of expressions; absent ones are nil
	slots [][]operand    // the tensors of each slot
}

// operand is a tensor that is saved.
type operand struct {
	name  string
	kind  dtype.Type
	shape []int
	known bool // its value is in the file
}

func operandOf(t graph.Tensor) operand { return operand{t.Name(), t.Type(), t.Shape(), t.Variable()} }

// useOf describes a node, with its attributes and the arguments that its caller passed.
func useOf(n *graph.Node) (*applied, error) {
	a := &applied{op: n.Op, name: n.Name, slots: make([][]operand, len(n.Op.Slots))}
	var err error
	if a.attrs, err = valuesOf(n); err != nil {
		return nil, &NotSaved{n.Op.Name, n.Name, err.Error()}
	}
	for slot := range n.Op.Slots {
		for _, t := range n.Tensors(slot) {
			if t.Valid() {
				a.slots[slot] = append(a.slots[slot], operandOf(t))
			}
		}
	}
	return a, nil
}

// valuesOf returns the attributes of a node and the arguments that its caller passed, as values of
// expressions.
func valuesOf(n *graph.Node) (map[string]any, error) {
	object, err := attr.Object(n.Attrs)
	if err != nil {
		return nil, err
	}
	floats := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(n.Attrs)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		floats[name] = strings.Contains(f.Type.String(), "float64")
	}
	out := map[string]any{}
	for name, v := range object {
		if out[name], err = exprValue(v, floats[name]); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role != task.RoleArgument {
			continue
		}
		if passed := n.Passed(slot); len(passed) == 1 {
			out[n.Op.Slots[slot].Name] = passed[0]
		} else if len(passed) > 1 {
			return nil, fmt.Errorf("argument %s: want one value, got %d", n.Op.Slots[slot].Name, len(passed))
		}
	}
	return out, nil
}

// exprValue returns a value of JSON as one of expressions.
func exprValue(v any, float bool) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if float {
			return strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(v.String()), "+"), 64)
		}
		return strconv.Atoi(v.String())
	case []any:
		ints, floats, texts := []int{}, []float64{}, []string{}
		for _, x := range v {
			e, err := exprValue(x, float)
			if err != nil {
				return nil, err
			}
			switch e := e.(type) {
			case int:
				ints = append(ints, e)
			case float64:
				floats = append(floats, e)
			case string:
				texts = append(texts, e)
			default:
				return nil, fmt.Errorf("want a list of numbers or strings, got %v", v)
			}
		}
		switch {
		case len(floats) > 0 || float:
			return floats, nil
		case len(texts) > 0:
			return texts, nil
		}
		return ints, nil
	}
	return v, nil // a record, which no expression reads
}

// node saves a use of an operator by the first entry that can.
func (s *saver) node(a *applied) error {
	nodes, initializers := len(s.graph.Node), len(s.graph.Initializer)
	undo := func() {
		s.graph.Node, s.graph.Initializer = s.graph.Node[:nodes], s.graph.Initializer[:initializers]
	}
	var reasons []string
	for _, e := range s.entries[a.op.Name] {
		if e.Until != 0 && e.Until < s.opset {
			continue
		}
		var err error
		if e.Body != "" {
			err = s.body(a, e)
		} else {
			err = s.entry(a, e)
		}
		if err == nil {
			return nil
		}
		undo()
		if err == errNoValues {
			continue
		}
		if name := e.Op; name != "" {
			reasons = append(reasons, name+": "+err.Error())
		} else {
			reasons = append(reasons, err.Error())
		}
	}
	if first, rest := s.split(a); first != nil {
		if err := s.node(first); err != nil {
			return err
		}
		return s.node(rest)
	}
	switch {
	case len(s.entries[a.op.Name]) == 0:
		reasons = []string{"its spec has no entry [onnx]"}
	case len(reasons) == 0:
		reasons = []string{"no entry [onnx] of its spec gives these attributes, shapes and element types"}
	}
	return &NotSaved{a.op.Name, a.name, strings.Join(reasons, "; ")}
}

// split takes a use of an operator apart that does the work of another as well, such as an activation: what
// the rule of a fusion makes of two.
func (s *saver) split(a *applied) (first, rest *applied) {
	for i := range a.op.Fusions {
		f := &a.op.Fusions[i]
		other := s.catalogue.operators[f.Other]
		if other == nil || len(f.Share) != 1 || len(f.Make) != 1 || f.Share[0].Own != f.Make[0].Own || len(f.Copy) == 0 || f.Set != "" {
			continue
		}
		from, to := other.SlotNamed(f.Share[0].Other), other.SlotNamed(f.Make[0].Other)
		out := a.slots[f.Make[0].Own]
		if from < 0 || to < 0 || len(out) != 1 {
			continue
		}
		first = &applied{op: a.op, name: a.name, attrs: maps.Clone(a.attrs), slots: slices.Clone(a.slots)}
		set := map[string]any{}
		for _, c := range f.Copy {
			if a.attrs[c.Attr] == nil {
				set = nil
				break
			}
			set[c.From], first.attrs[c.Attr] = jsonValue(a.attrs[c.Attr]), nil
		}
		if set == nil || !slices.ContainsFunc(f.When, func(w task.FusionWhen) bool { return allowed(w, set[w.Attr]) }) {
			continue
		}
		text, err := json.Marshal(set)
		if err != nil {
			continue
		}
		attrs, err := other.DecodeAttrs(text)
		if err != nil {
			continue
		}
		between := out[0]
		between.name = s.fresh(a.name + " before " + other.Name)
		first.slots[f.Make[0].Own] = []operand{between}
		s.read[between.name] = true
		rest = &applied{op: other, name: a.name + " " + other.Name, slots: make([][]operand, len(other.Slots))}
		if rest.attrs, err = valuesOf(&graph.Node{Op: other, Attrs: attrs}); err != nil {
			continue
		}
		rest.slots[from], rest.slots[to] = []operand{between}, out
		return first, rest
	}
	return nil, nil
}

// allowed reports whether an attribute has one of the values that a fusion lists.
func allowed(w task.FusionWhen, v any) bool {
	var list []any
	return json.Unmarshal([]byte(w.Values), &list) == nil && slices.Contains(list, v)
}

// fresh returns a name that no tensor has yet.
func (s *saver) fresh(name string) string {
	for k := 2; ; k++ {
		if s.tensors[name] == nil && !s.read[name] && !s.names[name] {
			s.names[name] = true
			return name
		}
		name = strings.TrimRight(name, " 0123456789") + " " + strconv.Itoa(k)
	}
}

// about computes functions of the tensors of a use.
func (a *applied) about(function, name string) (any, error) {
	slot := a.op.SlotNamed(name)
	if slot < 0 {
		return nil, fmt.Errorf("want a slot, got %s", name)
	}
	if function == "present" {
		return len(a.slots[slot]) > 0, nil
	}
	if len(a.slots[slot]) == 0 {
		return nil, fmt.Errorf("want a tensor for %s, got none", name)
	}
	return describe(function, a.slots[slot][0])
}

func describe(function string, o operand) (any, error) {
	switch function {
	case "shape":
		return append([]int{}, o.shape...), nil
	case "rank":
		return len(o.shape), nil
	case "type":
		return o.kind.String(), nil
	}
	return o.known, nil
}

// eval computes an expression of the attributes and slots of a use.
func (a *applied) eval(text string, about func(function, name string) (any, error)) (any, error) {
	x, err := mapping.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := x.Eval(func(name string) any { return a.attrs[name] }, about)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return v, nil
}

// entry saves a use as one node, by an entry that is read from the operator to ONNX: the values of ONNX's
// attributes are those with which the entry gives the operator's.
func (s *saver) entry(a *applied, e *mapping.Entry) error {
	known := map[string]any{"opset": s.opset, "inputs": len(e.Inputs)}
	for _, v := range e.Save {
		value, err := a.eval(v.Value, a.about)
		if err != nil {
			return err
		}
		if v.Name != "when" {
			known[v.Name] = value
		} else if value != true {
			return fmt.Errorf("it computes it when %s", v.Value)
		}
	}
	slots, outputs := map[string]bool{}, 0
	for _, o := range e.Inputs {
		slots[o.Slot] = true
		if slot := a.op.SlotNamed(o.Slot); slot >= 0 && a.op.Slots[slot].Variadic {
			known["inputs"] = len(e.Inputs) - 1 + len(a.slots[slot])
		}
	}
	for i, o := range e.Outputs {
		slots[o.Slot] = true
		if slot := a.op.SlotNamed(o.Slot); slot >= 0 {
			if n := len(a.slots[slot]); n > 0 && s.anyRead(a.slots[slot]) {
				outputs = i + n
			}
		}
	}
	known["outputs"] = outputs
	for slot := range a.op.Slots {
		d := &a.op.Slots[slot]
		if len(a.slots[slot]) > 0 && !slots[d.Name] && (d.Role == task.RoleInput || d.Role == task.RoleWeight || d.Role == task.RoleOutput && s.anyRead(a.slots[slot])) {
			return fmt.Errorf("it has no place for %s", d.Name)
		}
	}
	var goals []mapping.Goal
	for _, o := range slices.Concat(e.Inputs, e.Outputs) {
		if o.Slot != "" && o.Permute != "" {
			goals = append(goals, mapping.Goal{Text: o.Permute})
		}
	}
	if e.When != "" {
		goals = append(goals, mapping.Goal{Text: e.When, Want: true})
	}
	if e.Times != "" {
		x, err := mapping.Parse(e.Times)
		if err != nil {
			return err
		}
		v, err := x.Eval(func(name string) any { return known[name] }, a.about)
		times, _ := v.([]int)
		if err != nil || len(times) != 1 {
			return fmt.Errorf("want it to apply the operator once, got %v times", v)
		}
		known["i"] = times[0]
	}
	for _, t := range e.Attrs {
		goals = append(goals, mapping.Goal{Text: t.Value, Want: a.attrs[t.Name]})
	}
	var failed error
	search := &mapping.Search{Known: known, Let: e.Let, About: func(function, name string) (any, error) {
		if function == "present" && slices.ContainsFunc(e.Inputs, func(o mapping.Operand) bool { return o.Const == name }) {
			return known[name] != nil, nil
		}
		return a.about(function, name)
	}}
	search.Accept = func(found map[string]any) bool {
		failed = s.try(a, e, outputs, known, found)
		return failed == nil
	}
	ok, err := search.Solve(goals)
	switch {
	case ok || err != nil:
		return err
	case failed != nil:
		return failed
	}
	return errNoValues
}

// errNoValues is the error of an entry with which no attributes of ONNX give those of a use.
var errNoValues = errors.New("no attributes of it give those of the node")

func (s *saver) anyRead(list []operand) bool {
	return slices.ContainsFunc(list, func(o operand) bool { return s.read[o.name] })
}

// try adds a node with the values that a search found, after it was read again.
func (s *saver) try(a *applied, e *mapping.Entry, outputs int, known, found map[string]any) error {
	nodes, initializers := len(s.graph.Node), len(s.graph.Initializer)
	undo := func(err error) error {
		s.graph.Node, s.graph.Initializer = s.graph.Node[:nodes], s.graph.Initializer[:initializers]
		return err
	}
	given := maps.Clone(known)
	maps.DeleteFunc(given, func(name string, _ any) bool {
		return slices.Contains([]string{"opset", "inputs", "outputs", "i"}, name)
	})
	maps.Copy(given, found)
	n := &onnxpb.NodeProto{OpType: new(e.Op), Name: new(a.name)}
	if e.Domain != "" {
		n.Domain = new(e.Domain)
	}
	kind := dtype.F32
	for _, o := range e.Inputs {
		if slot := a.op.SlotNamed(o.Slot); o.Slot != "" && len(a.slots[slot]) > 0 {
			kind = a.slots[slot][0].kind
			break
		}
	}
	for _, o := range e.Inputs {
		if o.Slot != "" {
			n.Input = append(n.Input, inputNames(a.slots[a.op.SlotNamed(o.Slot)])...)
			continue
		}
		v := given[o.Const]
		delete(given, o.Const)
		if v == nil {
			n.Input = append(n.Input, "")
			continue
		}
		t, err := s.constantOf(a, o, v, kind)
		if err != nil {
			return undo(err)
		}
		name := s.fresh(a.name + "." + cmp.Or(o.Const, "constant"))
		if err := s.constant(name, t); err != nil {
			return undo(err)
		}
		n.Input = append(n.Input, name)
	}
	for len(n.Input) > 0 && n.Input[len(n.Input)-1] == "" {
		n.Input = n.Input[:len(n.Input)-1]
	}
	for _, o := range e.Outputs {
		list := a.slots[a.op.SlotNamed(o.Slot)]
		for _, t := range list {
			if len(n.Output) < outputs {
				n.Output = append(n.Output, t.name)
			}
		}
		if len(list) == 0 && len(n.Output) < outputs {
			n.Output = append(n.Output, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] == nil {
			continue
		}
		p, err := attributeProto(name, given[name])
		if err != nil {
			return undo(err)
		}
		n.Attribute = append(n.Attribute, p)
	}
	if err := s.verify(a, e, n); err != nil {
		return undo(err)
	}
	s.add(n, a)
	return nil
}

// add adds a node, whose outputs are those of a use.
func (s *saver) add(n *onnxpb.NodeProto, a *applied) {
	s.graph.Node = append(s.graph.Node, n)
	if n.GetDomain() != "" {
		s.domains[n.GetDomain()] = true
	}
	for slot := range a.op.Slots {
		if a.op.Slots[slot].Role == task.RoleOutput {
			for _, o := range a.slots[slot] {
				s.tensors[o.name] = s.open(o)
			}
		}
	}
}

// open returns a value that is known in a run only.
func (s *saver) open(o operand) *value {
	t := graph.New(0).Input(o.name, o.kind, o.shape...)
	return &value{name: o.name, tensor: t}
}

// inputNames returns the names of the tensors of a slot; "" if it has none.
func inputNames(list []operand) []string {
	if len(list) == 0 {
		return []string{""}
	}
	var names []string
	for _, o := range list {
		names = append(names, o.name)
	}
	return names
}

// constantOf returns a constant input: integers are of i64, and floats of the element type of the node's
// tensors, unless the entry names another type.
func (s *saver) constantOf(a *applied, o mapping.Operand, v any, kind dtype.Type) (safetensors.Tensor, error) {
	var list []float64
	t := safetensors.Tensor{Type: kind, Shape: []int{}}
	switch v := v.(type) {
	case int:
		t.Type, list = dtype.I64, []float64{float64(v)}
	case float64:
		list = []float64{v}
	case []int:
		t.Type, t.Shape = dtype.I64, []int{len(v)}
		for _, n := range v {
			list = append(list, float64(n))
		}
	case []float64:
		t.Shape, list = []int{len(v)}, v
	default:
		return t, fmt.Errorf("want numbers as the input %s, got %v", o.Const, v)
	}
	if o.Type != "" {
		name, err := a.eval(o.Type, a.about)
		if err != nil {
			return t, err
		}
		if t.Type, err = dtype.Parse(fmt.Sprint(name)); err != nil {
			return t, err
		}
	}
	if o.Shape != "" {
		shape, err := a.eval(o.Shape, a.about)
		if err != nil {
			return t, err
		}
		t.Shape, _ = shape.([]int)
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
			return t, fmt.Errorf("want integers as the input %s, got %v", o.Const, x)
		}
		t.Type.PutFloat64(t.Data[i*size:], x)
	}
	return t, nil
}

// attributeProto returns an attribute of a node.
func attributeProto(name string, v any) (*onnxpb.AttributeProto, error) {
	p := &onnxpb.AttributeProto{Name: &name}
	switch v := v.(type) {
	case int:
		p.Type, p.I = onnxpb.AttributeProto_INT.Enum(), new(int64(v))
	case bool:
		p.Type, p.I = onnxpb.AttributeProto_INT.Enum(), new(map[bool]int64{true: 1}[v])
	case float64:
		p.Type, p.F = onnxpb.AttributeProto_FLOAT.Enum(), new(float32(v))
	case string:
		p.Type, p.S = onnxpb.AttributeProto_STRING.Enum(), []byte(v)
	case []int:
		p.Type = onnxpb.AttributeProto_INTS.Enum()
		for _, n := range v {
			p.Ints = append(p.Ints, int64(n))
		}
	case []float64:
		p.Type = onnxpb.AttributeProto_FLOATS.Enum()
		for _, x := range v {
			p.Floats = append(p.Floats, float32(x))
		}
	case []string:
		p.Type = onnxpb.AttributeProto_STRINGS.Enum()
		for _, x := range v {
			p.Strings = append(p.Strings, []byte(x))
		}
	default:
		return nil, fmt.Errorf("attribute %s: want a number, a string or a list, got %v", name, v)
	}
	return p, nil
}

// reader reads nodes again, in a graph of their own.
type reader struct {
	*builder
	s      *saver
	values map[string]*value
}

func (s *saver) reader() *reader {
	m := &Model{catalogue: s.catalogue, opsets: map[string]int{"": s.opset}}
	r := &reader{s: s, values: map[string]*value{}, builder: newBuilder(&folder{m: m, left: maxConstants}, graph.New(0))}
	r.variables = map[string]safetensors.Tensor{}
	return r
}

// value returns the value of a name: a constant, or an input of the reader's graph.
func (r *reader) value(name string) (*value, error) {
	if v := r.values[name]; v != nil || name == "" {
		return v, nil
	}
	known := r.s.tensors[name]
	if known == nil {
		return nil, fmt.Errorf("want a node in front that computes %s", name)
	}
	v := known
	if known.data == nil {
		v = r.bound(r.g.Input(name, known.tensor.Type(), known.tensor.Shape()...))
	} else {
		v = constant(name, *known.data)
	}
	r.values[name] = v
	return v, r.g.Err()
}

// call returns a node with the values of its inputs.
func (r *reader) callOf(n *onnxpb.NodeProto) (*call, error) {
	c := &call{node: n, scope: newScope(nil, r.m.opsets), domain: domain(n.GetDomain()), version: r.s.opset}
	if c.domain != "" {
		c.version = 1
	}
	for _, name := range n.GetInput() {
		v, err := r.value(name)
		if err != nil {
			return nil, err
		}
		c.inputs = append(c.inputs, v)
	}
	return c, nil
}

// verify reads a node again, and returns an error unless it gives the use that it stands for.
func (s *saver) verify(a *applied, e *mapping.Entry, n *onnxpb.NodeProto) error {
	r := s.reader()
	defer r.fold.close()
	c, err := r.callOf(n)
	if err != nil {
		return err
	}
	outs, err := r.mapped(c)
	if err != nil {
		return err
	}
	var node *graph.Node
	for i, v := range outs {
		if i < len(n.Output) && n.Output[i] != "" && (v == nil || !v.tensor.Valid() || v.tensor.Node() == nil || node != nil && v.tensor.Node() != node) {
			return fmt.Errorf("it is read as other nodes")
		} else if i < len(n.Output) && n.Output[i] != "" {
			node = v.tensor.Node()
		}
	}
	if node == nil || node.Op != a.op {
		return fmt.Errorf("it is read as another operator")
	}
	attrs, err := valuesOf(node)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !mapping.Alike(attrs[name], a.attrs[name]) {
			return fmt.Errorf("it has no way to say that %s is %v", name, show(a.attrs[name]))
		}
	}
	for slot := range a.op.Slots {
		got, role := node.Tensors(slot), a.op.Slots[slot].Role
		if role == task.RoleOutput {
			for k, t := range got {
				if k < len(a.slots[slot]) && (t.Type() != a.slots[slot][k].kind || !t.ShapeIs(a.slots[slot][k].shape)) {
					return fmt.Errorf("it gives %v as %s, and not %v%v", t, a.op.Slots[slot].Name, a.slots[slot][k].kind, a.slots[slot][k].shape)
				}
			}
		}
		if role != task.RoleInput && role != task.RoleWeight {
			continue
		}
		if len(got) != len(a.slots[slot]) {
			return fmt.Errorf("it takes %d tensors as %s, and not %d", len(got), a.op.Slots[slot].Name, len(a.slots[slot]))
		}
		for k, t := range got {
			want, err := r.tensorOf(r.values[a.slots[slot][k].name])
			if err != nil {
				return err
			}
			if t != want && t != weightOf(want) {
				return fmt.Errorf("it takes another tensor as %s than %s", a.op.Slots[slot].Name, a.slots[slot][k].name)
			}
		}
	}
	return nil
}

func show(v any) any {
	if v == nil {
		return "absent"
	}
	return v
}

// body saves a use as the nodes of an entry.
func (s *saver) body(a *applied, e *mapping.Entry) error {
	if e.When != "" {
		v, err := a.eval(e.When, a.about)
		if err != nil {
			return err
		}
		if v != true {
			return fmt.Errorf("its nodes compute it when %s", e.When)
		}
	}
	all, err := mapping.Body(e.Body)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.attrs)) {
		if a.attrs[name] != nil && !e.Says(all, name) {
			return fmt.Errorf("its nodes do not compute it with %s", name)
		}
	}
	var lines []mapping.Line
	last := map[string]int{} // the line that gives a name its final value
	for _, l := range all {
		if l.When != "" {
			v, err := a.eval(l.When, a.about)
			if err != nil {
				return err
			}
			if v != true {
				continue
			}
		}
		for _, name := range l.Outputs {
			last[name] = len(lines)
		}
		lines = append(lines, l)
	}
	r := s.reader()
	defer r.fold.close()
	x := &expansion{saver: s, a: a, r: r, names: map[string][]string{}, last: last}
	for slot := range a.op.Slots {
		if role := a.op.Slots[slot].Role; role == task.RoleInput || role == task.RoleWeight {
			x.names[a.op.Slots[slot].Name] = inputNames(a.slots[slot])
		}
	}
	for i, l := range lines {
		if err := x.line(i, &l); err != nil {
			return fmt.Errorf("%s: %w", l.Op, err)
		}
	}
	for slot := range a.op.Slots {
		if a.op.Slots[slot].Role != task.RoleOutput || !s.anyRead(a.slots[slot]) {
			continue
		}
		for _, o := range a.slots[slot] {
			v := r.values[o.name]
			if v == nil {
				return fmt.Errorf("its nodes do not give %s", a.op.Slots[slot].Name)
			}
			kind, shape, err := r.typeOf(v)
			if err != nil {
				return err
			}
			if kind != o.kind || !slices.Equal(shape, o.shape) {
				return fmt.Errorf("its nodes give %v%v as %s, and not %v%v", kind, shape, a.op.Slots[slot].Name, o.kind, o.shape)
			}
		}
	}
	for _, n := range x.nodes {
		s.add(n, a)
	}
	return nil
}

// expansion is a body that is saved.
type expansion struct {
	*saver
	a     *applied
	r     *reader
	names map[string][]string // in the file, of slots and of what lines give
	last  map[string]int
	nodes []*onnxpb.NodeProto
}

// about computes functions of slots and of what lines gave.
func (x *expansion) about(function, name string) (any, error) {
	if x.a.op.SlotNamed(name) >= 0 && len(x.names[name]) == 0 || function == "present" {
		return x.a.about(function, name)
	}
	if len(x.names[name]) == 0 {
		return nil, fmt.Errorf("want a tensor, got %s", name)
	}
	v, err := x.r.value(x.names[name][0])
	if err != nil || v == nil {
		return nil, fmt.Errorf("want a tensor for %s, got none: %w", name, err)
	}
	kind, shape, err := x.r.typeOf(v)
	if err != nil {
		return nil, err
	}
	return describe(function, operand{name, kind, shape, v.constant()})
}

// line adds the node of a line, and reads it again.
func (x *expansion) line(i int, l *mapping.Line) error {
	n := &onnxpb.NodeProto{OpType: new(l.Op), Name: new(fmt.Sprintf("%s %s %d", x.a.name, l.Op, i+1))}
	kind := dtype.F32
	for k := len(l.Args) - 1; k >= 0; k-- {
		if len(x.names[l.Args[k].Name]) == 0 || x.names[l.Args[k].Name][0] == "" {
			continue
		}
		name, err := x.about("type", l.Args[k].Name)
		if err != nil {
			return err
		}
		if t, err := dtype.Parse(fmt.Sprint(name)); err == nil && t.IsFloat() {
			kind = t
		}
	}
	for _, arg := range l.Args {
		if len(x.names[arg.Name]) > 0 {
			n.Input = append(n.Input, x.names[arg.Name]...)
			continue
		}
		v, err := x.a.eval(cmp.Or(arg.Text, arg.Name), x.about)
		if err != nil {
			return err
		}
		if v == nil {
			n.Input = append(n.Input, "")
			continue
		}
		t, err := x.constantOf(x.a, mapping.Operand{Type: arg.Type}, v, kind)
		if err != nil {
			return err
		}
		name := x.fresh(x.a.name + ".constant")
		if err := x.constant(name, t); err != nil {
			return err
		}
		n.Input = append(n.Input, name)
	}
	for len(n.Input) > 0 && n.Input[len(n.Input)-1] == "" {
		n.Input = n.Input[:len(n.Input)-1]
	}
	for _, name := range l.Outputs {
		slot := x.a.op.SlotNamed(name)
		switch {
		case slot < 0 || x.last[name] != i || x.a.op.Slots[slot].Role != task.RoleOutput || len(x.a.slots[slot]) == 0:
			n.Output = append(n.Output, x.fresh(x.a.name+"."+name))
			x.names[name] = n.Output[len(n.Output)-1:]
		default:
			x.names[name] = inputNames(x.a.slots[slot])
			n.Output = append(n.Output, x.names[name]...)
		}
	}
	for _, t := range l.Attrs {
		v, err := x.a.eval(t.Value, x.about)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		p, err := attributeProto(t.Name, v)
		if err != nil {
			return err
		}
		n.Attribute = append(n.Attribute, p)
	}
	c, err := x.r.callOf(n)
	if err != nil {
		return err
	}
	outs, err := x.r.builder.call(c)
	if err != nil {
		return err
	}
	for k, name := range n.Output {
		if k >= len(outs) || outs[k] == nil {
			return fmt.Errorf("want an output %d, got none", k)
		}
		x.r.values[name] = outs[k]
	}
	x.nodes = append(x.nodes, n)
	return nil
}
