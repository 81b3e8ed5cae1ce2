package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/onnxpb"
)

// call is a node with the values of its inputs; absent ones are nil.
type call struct {
	node    *onnxpb.NodeProto
	scope   *scope
	domain  string
	version int
	inputs  []*value
	stored  *value // of the node that stores a constant
}

func (c *call) refused(missing string, err error) error {
	var inner *Refused
	if errors.As(err, &inner) && inner.Domain != ownDomain {
		return inner // a node of a function, or of a constant, says what is missing
	}
	if inner != nil {
		missing, err = inner.Missing, inner.Err // what definitions share has no name for users
	}
	name := c.node.GetName()
	if name == "" && len(c.node.GetOutput()) > 0 {
		name = c.node.GetOutput()[0]
	}
	return &Refused{Domain: c.domain, Op: c.node.GetOpType(), Version: c.version, Node: name, Missing: missing, Err: err}
}

// origin returns what the nodes of a graph that compute a node come from.
func (b *builder) origin(c *call) Origin {
	if c.stored != nil {
		return Origin{Version: c.version, Name: c.stored.name, Initializer: b.initializers[c.stored.name]}
	}
	return Origin{Domain: c.domain, Op: c.node.GetOpType(), Version: c.version, Name: c.node.GetName(), Inputs: c.node.GetInput(), Outputs: c.node.GetOutput()}
}

// input returns an input, or nil.
func (c *call) input(i int) *value {
	if i >= len(c.inputs) {
		return nil
	}
	return c.inputs[i]
}

// attribute returns an attribute of the node, that of the function around it if the node refers to one, or
// nil.
func (c *call) attribute(name string) *onnxpb.AttributeProto {
	for _, a := range c.node.GetAttribute() {
		if a.GetName() != name {
			continue
		}
		if ref := a.GetRefAttrName(); ref != "" {
			return c.scope.attrs[ref]
		}
		return a
	}
	return nil
}

// builtin returns what computes an operator that says something about values rather than compute; nil for
// others.
func builtin(op string) func(*builder, *call) ([]*value, error) {
	switch op {
	case "Constant":
		return (*builder).constantNode
	case "Identity":
		return (*builder).identity
	case "Shape":
		return (*builder).shape
	case "Size":
		return (*builder).size
	case "NonZero":
		return (*builder).nonzero
	case "If":
		return (*builder).branch
	case "Loop":
		return (*builder).loop
	case "Scan":
		return (*builder).scan
	case "SequenceEmpty", "SequenceConstruct", "SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence":
		return (*builder).onSequence
	case "Optional", "OptionalGetElement", "OptionalHasElement":
		return (*builder).onOptional
	}
	return nil
}

// call computes the outputs of a node.
func (b *builder) call(c *call) ([]*value, error) {
	if f := b.m.functions[functionKey{c.domain, c.node.GetOpType()}]; f != nil {
		return b.function(c, f)
	}
	for i, v := range c.inputs {
		if v != nil && v.counted && !v.constant() && c.node.GetOpType() != "Identity" {
			return nil, c.refused(fmt.Sprintf("want extents that are known when the graph is built, got input %d, %s, of which a run decides how many rows there are", i, v.name), nil)
		}
	}
	own := builtin(c.node.GetOpType())
	for i, v := range c.inputs {
		if v != nil && v.sequence != nil && (own == nil || c.domain != "") {
			return nil, c.refused(fmt.Sprintf("want a tensor as input %d, got %v", i, v.sequence), nil)
		}
	}
	return b.narrowed(c, b.computed)
}

// computed computes the outputs of a node that no function of the model computes.
func (b *builder) computed(c *call) ([]*value, error) {
	if n := lists[c.node.GetOpType()]; c.domain == trainingDomain && n > 0 && len(c.inputs) > 2+n {
		return b.optimizers(c)
	}
	if f := builtin(c.node.GetOpType()); f != nil && c.domain == "" && c.stored == nil {
		outs, err := f(b, c)
		if err != nil {
			return nil, c.refused("its outputs follow from constants", err)
		}
		if outs != nil {
			return outs, nil
		}
	}
	open := func(v *value) bool { return v != nil && !v.constant() }
	graph := func(a *onnxpb.AttributeProto) bool { return a.GetG() != nil } // it may read what a run knows only
	if b.variables != nil && b.inserting == 0 && c.stored == nil && !slices.ContainsFunc(c.inputs, open) && !slices.ContainsFunc(c.node.GetAttribute(), graph) {
		l := &later{call: c, row: rowOf(c)}
		if l.row > maxRow {
			return nil, c.refused(fmt.Sprintf("want at most %d nodes of constants behind each other", maxRow), nil)
		}
		for _, name := range c.node.GetOutput() {
			l.values = append(l.values, &value{name: name, later: l})
		}
		return l.values, nil
	}
	return b.mapped(c)
}

// compute inserts a node of constants into a graph of constants, or into one that computes them in each run.
func (b *builder) compute(l *later) error {
	outs, err := b.mapped(l.call)
	if err != nil {
		return err
	}
	for i, v := range l.values {
		if i < len(outs) && outs[i] != nil {
			if b.variables != nil && outs[i].counted {
				// What reads the rows of a constant expects that all of them count.
				return l.call.refused(fmt.Sprintf("want extents that are known when the graph is built, got %s, of which a run decides how many rows there are", v.name), nil)
			}
			if b.tensors[v], err = b.tensorOf(outs[i]); err != nil {
				return err
			}
			v.counted = outs[i].counted
		}
	}
	return nil
}

// mapped inserts the operator of the catalogue that a node is mapped to.
func (b *builder) mapped(c *call) ([]*value, error) {
	if !b.entries {
		if outs, _, err := b.defined(c, true); err != nil {
			return nil, c.refused("nodes of others compute it", err)
		} else if outs != nil {
			return outs, nil
		}
	}
	var reasons []string
	mapped := false
	for _, e := range b.m.catalogue.entries[c.node.GetOpType()] {
		mapped = mapped || e.Domain == c.domain
		if !e.Applies(c.domain, c.node.GetOpType(), c.version) {
			continue
		}
		x := &use{b: b, c: c, e: e}
		unmet, err := x.applies()
		if err != nil {
			return nil, c.refused(fmt.Sprintf("%s computes it when %s", e.Operator, e.When), err)
		}
		if unmet != "" {
			reasons = append(reasons, unmet)
			continue
		}
		outs, err := x.repeat()
		if err != nil {
			return nil, c.refused(e.Operator+" computes it", err)
		}
		return outs, nil
	}
	outs, unmet, err := b.defined(c, false)
	if err != nil {
		return nil, c.refused("nodes of others compute it", err)
	}
	if outs != nil {
		return outs, nil
	}
	switch {
	case len(unmet) > 0:
		reasons = append(reasons, unmet...)
		fallthrough
	case len(reasons) > 0:
		return nil, c.refused("the catalogue has "+strings.Join(reasons, ", "), nil)
	case mapped:
		return nil, c.refused("the catalogue has other versions of the operator only", nil)
	}
	return nil, c.refused("the catalogue has no such operator", nil)
}

// attribute returns the value of an attribute.
func attribute(a *onnxpb.AttributeProto) (any, error) {
	switch a.GetType() {
	case onnxpb.AttributeProto_INT:
		return int(a.GetI()), nil
	case onnxpb.AttributeProto_FLOAT:
		return float64(a.GetF()), nil
	case onnxpb.AttributeProto_STRING:
		return string(a.GetS()), nil
	case onnxpb.AttributeProto_INTS:
		list := make([]int, len(a.GetInts()))
		for i, n := range a.GetInts() {
			list[i] = int(n)
		}
		return list, nil
	case onnxpb.AttributeProto_FLOATS:
		list := make([]float64, len(a.GetFloats()))
		for i, n := range a.GetFloats() {
			list[i] = float64(n)
		}
		return list, nil
	case onnxpb.AttributeProto_STRINGS:
		list := make([]string, len(a.GetStrings()))
		for i, n := range a.GetStrings() {
			list[i] = string(n)
		}
		return list, nil
	case onnxpb.AttributeProto_TENSOR:
		t, err := (&Model{}).tensor(a.GetT())
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.GetName(), err)
		}
		return known(t)
	}
	return nil, fmt.Errorf("attribute %s: want numbers, strings or a tensor, got %s", a.GetName(), a.GetType())
}
