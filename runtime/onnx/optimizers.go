package onnx

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/internal/base/onnxpb"
)

// trainingDomain is the domain of optimizers.
const trainingDomain = "ai.onnx.preview.training"

// lists counts the lists of tensors behind the rate and the number of steps that an optimizer reads: weights,
// gradients and states. It writes as many lists but one.
var lists = map[string]int{"Adagrad": 3, "Adam": 4, "Momentum": 3}

// optimizers computes an optimizer of several tensors by a node for each. Their outputs stand as the inputs
// do: first all weights, then all states of one kind.
func (b *builder) optimizers(c *call) ([]*value, error) {
	n := lists[c.node.GetOpType()]
	count := (len(c.inputs) - 2) / n
	if len(c.inputs) != 2+count*n || len(c.node.Output) != count*(n-1) {
		return nil, c.refused(fmt.Sprintf("want 2 inputs, %d lists of some length and %d lists of outputs, got %d inputs and %d outputs", n, n-1, len(c.inputs), len(c.node.Output)), nil)
	}
	outs := make([]*value, len(c.node.Output))
	for i := range count {
		one, _ := proto.Clone(c.node).(*onnxpb.NodeProto)
		one.Name = new(strings.TrimSpace(fmt.Sprintf("%s %d", c.node.GetName(), i)))
		one.Input, one.Output = append([]string{}, c.node.Input[:2]...), nil
		d := &call{node: one, scope: c.scope, domain: c.domain, version: c.version, inputs: append([]*value{}, c.inputs[:2]...)}
		for k := range n {
			d.inputs, one.Input = append(d.inputs, c.inputs[2+k*count+i]), append(one.Input, c.node.Input[2+k*count+i])
		}
		for k := range n - 1 {
			one.Output = append(one.Output, c.node.Output[k*count+i])
		}
		results, err := b.computed(d)
		if err != nil {
			return nil, err
		}
		for k, v := range results {
			outs[k*count+i] = v
		}
	}
	return outs, nil
}
