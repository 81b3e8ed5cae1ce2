package graph_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// replica returns the loss of a small network on a device.
func replica(device, channels int, name string) graph.Replica {
	g := graph.OnDevice(1, device)
	at := linear.Defaults(channels)
	y := linear.Apply(g, at, g.Input("x", dtype.F32, 4, 5), graph.Named(name))
	label := g.Input("label", dtype.F32, 4, channels)
	mean := meansquarederror.Defaults()
	mean.Reduction = meansquarederror.ReductionMean
	loss := meansquarederror.Apply(g, mean, meansquarederror.Logit(y), meansquarederror.Label(label))
	return graph.Replica{Loss: loss, Share: graph.Share{Loss: 0.5, Aux: 0.5}}
}

// TestDataParallel checks the steps of a program for two devices, and those of its initialization.
func TestDataParallel(t *testing.T) {
	p, err := graph.DataParallel([]graph.Replica{replica(0, 3, "fc"), replica(1, 3, "fc")}, sgd.Optimizer(sgd.Defaults(0.1)))
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	for _, s := range p.Steps {
		if s.AllReduce == nil {
			continue
		}
		for i, x := range s.AllReduce.Tensors {
			if x.Device() != i {
				t.Errorf("tensor %d of a sum lies on device %d", i, x.Device())
			}
			sums = append(sums, x.Name())
		}
	}
	if got := strings.Join(sums, ", "); got != "grad of fc.bias, grad of fc@1.bias, grad of fc.weight, grad of fc@1.weight" {
		t.Errorf("added are %s", got)
	}
	init, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	copies := 0
	for _, s := range init.Steps {
		if s.Copy != nil {
			if copies++; s.Copy.To.Name() != strings.Replace(s.Copy.From.Name(), "fc", "fc@1", 1) {
				t.Errorf("%v is copied from %v", s.Copy.To, s.Copy.From)
			}
		}
	}
	if copies != len(p.Variables)/2 {
		t.Errorf("%d copies of %d variables", copies, len(p.Variables))
	}
}

// TestUnnamedReplicas merges replicas whose nodes have no names of their own, with what an optimizer keeps.
func TestUnnamedReplicas(t *testing.T) {
	var replicas []graph.Replica
	for d := range 2 {
		g := graph.OnDevice(1, d)
		x := linear.Apply(g, linear.Defaults(3), linear.Apply(g, linear.Defaults(3), g.Input("x", dtype.F32, 2, 3)))
		loss := meansquarederror.Apply(g, meansquarederror.Defaults(), meansquarederror.Logit(x), meansquarederror.Label(g.Input("label", dtype.F32, 2, 3)))
		replicas = append(replicas, graph.Replica{Loss: loss, Share: graph.Share{Loss: 0.5, Aux: 0.5}})
	}
	p, err := graph.DataParallel(replicas, adam.Optimizer(adam.Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Variables) != 2*4*3 {
		t.Errorf("%d variables", len(p.Variables))
	}
}

// TestDataParallelErrors lists replicas that are refused.
func TestDataParallelErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		replicas []graph.Replica
		fetch    []graph.Tensor
		want     string
	}{
		"none":           {nil, nil, "graph: want at least one replica, got none"},
		"no loss":        {[]graph.Replica{{}}, nil, "graph: want the loss of replica 0 on device 0, got no tensor"},
		"another device": {[]graph.Replica{replica(1, 3, "fc")}, nil, "graph: want the loss of replica 0 on device 0, got mean_squared_error@1.loss f32[]"},
		"another shape":  {[]graph.Replica{replica(0, 3, "fc"), replica(1, 2, "fc")}, nil, "graph: want replicas that are alike, got no weight like fc.weight f32[3, 5] on device 1"},
		"another name":   {[]graph.Replica{replica(0, 3, "fc"), replica(1, 3, "other")}, nil, "graph: want replicas that are alike, got no weight like fc.weight f32[3, 5] on device 1"},
		"not a replica's": {[]graph.Replica{replica(0, 3, "fc")}, []graph.Tensor{replica(1, 3, "fc").Loss},
			"graph: want tensors of replicas, got mean_squared_error@1.loss f32[]"},
	} {
		_, err := graph.DataParallel(tt.replicas, sgd.Optimizer(sgd.Defaults(0.1)), tt.fetch...)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v\nwant %s", name, err, tt.want)
		}
	}
}
