package graph_test

import (
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/normal"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// TestInitErrors gives Init what is wrong. The error names the node and the slot when the node is inserted.
func TestInitErrors(t *testing.T) {
	for want, opt := range map[string]graph.Option{
		"slot weight: operator normal: want attributes of type normal.Attrs, got constant.Attrs": graph.Init(linear.SlotWeight, normal.Operator, constant.Defaults(1)),
		"slot weight: operator linear: want an output that the caller provides":                  graph.Init(linear.SlotWeight, linear.Operator, linear.Defaults(1)),
		"slot weight: Init: want an initializer, got nil":                                        graph.Init(linear.SlotWeight, nil, normal.Defaults()),
		"operator linear, slot input: want a weight for Init, got one of role input":             graph.Init(linear.SlotInput, normal.Operator, normal.Defaults()),
		"operator linear: want a weight for Init, got Slot(99)":                                  graph.Init(linear.Slot(99), normal.Operator, normal.Defaults()),
		"slot weight: operator normal: want attributes made by Defaults, got a literal":          graph.Init(linear.SlotWeight, normal.Operator, normal.Attrs{}),
	} {
		g := graph.New(1)
		linear.Apply(g, linear.Defaults(2), g.Input("x", dtype.F32, 4, 3), graph.Named("layer"), opt)
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "node layer") {
			t.Errorf("got %v, want an error with node layer and %q", err, want)
		}
	}
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 4, 3)
	first := linear.Apply(g, linear.Defaults(2), x)
	linear.Apply(g, linear.Defaults(2), x, graph.Weight(linear.SlotWeight, first.Node().Tensor(int(linear.SlotWeight))), graph.Init(linear.SlotWeight, normal.Operator, normal.Defaults()))
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "slot weight: want either Init or Weight, got both") {
		t.Errorf("got %v, want an error about Init and Weight", err)
	}
}
