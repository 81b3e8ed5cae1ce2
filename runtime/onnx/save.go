package onnx

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx/mapping"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
	"google.golang.org/protobuf/proto"
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
	if int64(len(data)) > maxFile {
		return fmt.Errorf("onnx: want a model of at most %d bytes, got %d", maxFile, len(data))
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

// node saves a use of an operator by the first entry that can.
func (s *saver) node(a *applied) error {
	nodes, initializers := len(s.graph.Node), len(s.graph.Initializer)
	undo := func() {
		s.graph.Node, s.graph.Initializer = s.graph.Node[:nodes], s.graph.Initializer[:initializers]
	}
	var reasons []string
	for _, e := range s.entries[a.op.Name] {
		if e.Until != 0 && e.Until < s.opset || e.Domain == ownDomain {
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
