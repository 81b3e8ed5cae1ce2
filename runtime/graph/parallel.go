package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Replica is the copy of a network that trains on one part of the batch: the scalar loss in the replica's
// graph, and the weight of the part in the batch.
type Replica struct {
	Loss  Tensor
	Share Share
}

// DataParallel returns the program of one data-parallel training step. Replica i is a copy of the network in
// a graph of OnDevice(seed, i). Each replica computes the gradients of its part of the batch. An all-reduce
// adds the gradients of each weight in the order of replicas, with the same bits on all devices. Each
// replica then updates its own weights. The variables of replica 0 are initialized as usual, and those of
// other replicas are copies. So the weights of all replicas stay bit-identical.
//
// Up to rounding, and without operators that depend on the whole batch, the step equals Training on the
// whole batch with the loss that is the sum of the replicas' losses, weighted by their shares.
//
// All replicas must have the same nodes, in the same order. The losses and the fetched tensors can be read
// after a step.
func DataParallel(replicas []Replica, optimizer Optimizer, fetch ...Tensor) (*Program, error) {
	if len(replicas) == 0 {
		return nil, fmt.Errorf("graph: want at least one replica, got none")
	}
	p := &Program{Name: "training"}
	graphs := make([]*Graph, len(replicas))
	weights := make([][]Tensor, len(replicas))
	grads := make([]map[Tensor]Tensor, len(replicas))
	var fetched []Tensor
	for i, r := range replicas {
		if !r.Loss.Valid() || r.Loss.node == nil || r.Loss.device != i {
			return nil, fmt.Errorf("graph: want the loss of replica %d on device %d, got %v", i, i, r.Loss)
		}
		graphs[i] = r.Loss.node.graph
		own := slices.DeleteFunc(slices.Clone(fetch), func(t Tensor) bool { return t.Valid() && t.device != i })
		var err error
		if weights[i], grads[i], err = p.differentiate(graphs[i], r.Loss, r.Share, own, nil); err != nil {
			return nil, err
		}
		fetched = append(fetched, p.Fetched...)
	}
	for _, t := range fetch {
		if !slices.Contains(fetched, t) {
			return nil, fmt.Errorf("graph: want tensors of replicas, got %v", t)
		}
	}
	p.Fetched = fetched
	if err := p.reduce(weights, grads); err != nil {
		return nil, err
	}
	for i, r := range replicas {
		if err := p.update(graphs[i], r.Loss, optimizer, weights[i], grads[i]); err != nil {
			return nil, err
		}
	}
	p.collect()
	return p, p.copyVariables(len(replicas))
}

// reduce appends an all-reduce of the gradients of each weight. Those of the last layers come first, since
// they are computed first: messages move while devices compute the others.
func (p *Program) reduce(weights [][]Tensor, grads []map[Tensor]Tensor) error {
	var sums []Step
	for k, w := range weights[0] {
		var sum []Tensor
		for i := range weights {
			if len(weights[i]) != len(weights[0]) || !w.twin(weights[i][k], i) {
				return fmt.Errorf("graph: want replicas that are alike, got no weight like %v on device %d", w, i)
			}
			if g, ok := grads[i][weights[i][k]]; ok {
				sum = append(sum, g)
			}
		}
		if len(sum) != 0 && len(sum) != len(weights) {
			return fmt.Errorf("graph: want replicas that are alike, got gradients of %v on %d devices of %d", w, len(sum), len(weights))
		}
		if len(sum) > 1 {
			sums = append(sums, Step{Phase: Backward, AllReduce: &AllReduce{Tensors: sum}})
		}
	}
	slices.Reverse(sums)
	p.Steps = append(p.Steps, sums...)
	return nil
}

// copyVariables initializes the variables of all other devices as copies of those of device 0.
func (p *Program) copyVariables(devices int) error {
	variables := make([][]Tensor, devices)
	for _, v := range p.Variables {
		variables[v.device] = append(variables[v.device], v)
	}
	for i := range variables {
		for k, v := range variables[i] {
			if len(variables[i]) != len(variables[0]) || !variables[0][k].twin(v, i) {
				return fmt.Errorf("graph: want replicas that are alike, got no variable like %v on device 0", v)
			}
			if i > 0 {
				v.source = variables[0][k]
			}
		}
	}
	return nil
}

// twin reports whether u, on a device, corresponds to t on device 0.
func (t Tensor) twin(u Tensor, device int) bool {
	name, like := u.name, t.name
	if device > 0 { // a name has the mark of its device for each node that it is made of
		mark := fmt.Sprintf("@%d", device)
		name, like = strings.ReplaceAll(name, mark, ""), strings.ReplaceAll(like, mark, "")
	}
	return name == like && u.operand.String() == t.operand.String()
}
